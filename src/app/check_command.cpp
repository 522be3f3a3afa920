// patchbench check: tests whether the program was started correctly. Shows which rank has which device and cores and
// how fast the ranks communicate, and verifies a tiny network on each of them.
#include "app/commands.hpp"
#include "app/options.hpp"
#include "app/session.hpp"
#include "app/terminal.hpp"
#include "comm/interruption.hpp"
#include "comm/launcher.hpp"
#include "comm/metric_reduction.hpp"
#include "doctor/launch_facts.hpp"
#include "doctor/launch_findings.hpp"
#include "engine/worker/engine_places.hpp"
#include "run/environment.hpp"
#include "run/from_root.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>

namespace pb::app {

namespace {

struct CheckArguments {
    config::PointSettings settings;  // only the device is used
    double timeout_s = 60;
};

void append(doctor::Findings& all, doctor::Findings more) {
    for (auto& finding : more) all.push_back(std::move(finding));
}

void say(const std::string& text) {
    print_text(stdout, "{}", text);
    std::fflush(stdout);  // visible even if the next step hangs
}

/// Rank 0 prints its findings so far before it gives up on ranks that do not answer.
doctor::ReductionTrial try_reductions_or_say(const comm::Communicator& world, const plan::Topology& topology,
                                             double timeout_s, const doctor::Findings& so_far) {
    try {
        return doctor::try_reductions(world, topology, timeout_s);
    } catch (const comm::RanksMissing& error) {
        doctor::Findings all = so_far;
        all.push_back(
            {doctor::Severity::wrong, error.what(),
             "look at those ranks' nodes: GPU (nvidia-smi), driver, network (NCCL_SOCKET_IFNAME, NCCL_IB_HCA); "
             "NCCL_DEBUG=INFO says more"});
        say(doctor::findings_text(all));
        throw Error(error.what(), ExitCode::usage);
    }
}

ExitCode end_check(const comm::Communicator& world, const doctor::Findings& all,
                   const doctor::Findings& wrong_results) {
    ExitCode code = ExitCode::ok;
    if (doctor::any_wrong(all)) code = ExitCode::usage;
    if (!wrong_results.empty()) code = ExitCode::verification;
    const bool is_interrupted = world.max(comm::interruption().empty() ? 0 : 1) > 0;  // any rank
    if (code == ExitCode::ok && is_interrupted) code = ExitCode::partial;             // the job's time is over
    if (world.is_root()) say(doctor::findings_text(all));
    return run::from_root(world, code);  // it alone has the findings
}

ExitCode run_check(const CheckArguments& arguments, RankSession& session) {
    const comm::Communicator& world = session.world;
    const config::DeviceChoice device = arguments.settings.device;
    const plan::Topology topology =
        run::gather_topology(world, device, config::SharingRule::allow);  // sharing becomes a finding
    const auto facts = doctor::gather_launch_facts(world, topology, device != config::DeviceChoice::cpu);
    if (world.is_root()) say(doctor::launch_text(facts, comm::mpi_is_cuda_aware(), terminal_width(stdout)));
    doctor::Findings all = doctor::launch_findings(facts);
    append(all, doctor::find_other_work(world, topology));
    const auto links = doctor::measure_links(world, topology);
    append(all, doctor::find_link_findings(topology, links));
    if (world.is_root()) say(doctor::links_text(topology, links));
    const doctor::NetworkTrial network = doctor::try_network(world, topology);
    append(all, network.wrong);
    if (world.is_root()) say(doctor::tiny_text(network.errors));
    if (world.is_root()) say(engine::worker_engine::installed_engines_text() + "\n");
    const auto trial = try_reductions_or_say(world, topology, arguments.timeout_s, all);
    if (world.is_root()) say("figures are gathered by " + trial.how + "\n");
    append(all, trial.findings);
    return end_check(world, all, network.wrong);
}

}  // namespace

void add_check_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<CheckArguments>();
    CLI::App* command = app.add_subcommand("check", "is this machine and this launch all right?");
    add_setting(*command, "--device", "device", arguments->settings);
    add_number<double>(*command, "--timeout", arguments->timeout_s, {1e-3, config::kMaxSeconds}, "s",
                       "time after which NCCL's missing ranks are named (default: 60)");
    set_action(*command, chosen, [arguments](const Arguments& raw) {
        return with_ranks(raw, [&](RankSession& session) { return run_check(*arguments, session); });
    });
}

}  // namespace pb::app
