// patchbench check: the doctor. Is this started right, which rank has which device and cores, how fast do they talk,
// and does a tiny network give the right answer on each of them?
#include "app/commands.hpp"
#include "app/number_in_range.hpp"
#include "app/session.hpp"
#include "comm/interruption.hpp"
#include "comm/launcher.hpp"
#include "comm/metric_reduction.hpp"
#include "config/settings.hpp"
#include "doctor/check_text.hpp"
#include "doctor/launch_facts.hpp"
#include "image/quality.hpp"
#include "image/synthetic.hpp"
#include "run/agreement.hpp"
#include "run/launch.hpp"
#include "run/pipeline/run_window.hpp"
#include "run/weights_source.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

namespace pb {

namespace {

constexpr double kTolerance = 1e-4;  // of a value in [0, 1], against double precision

struct CheckArguments {
    std::string device = "auto";
    double timeout_s = 60;
};

Image run_tiny(EngineKind engine, DeviceId device, const Image& scene, const Weights& weights) {
    select_device(device);
    EngineOptions options;
    options.engine = engine;
    options.device = device;
    options.layout = Layout::contiguous;
    Stream stream(device);
    return run_window(*make_denoiser(weights, options), scene, {}, device, stream);
}

/// Largest difference between this rank's device and the naive double-precision reference.
double tiny_error(DeviceId device) {
    Image scene({32, 32}, 3, DType::f32);
    fill_scene(1, 0, 0, scene.view());
    PointSettings settings;
    settings.network = NetworkKind::dncnn;
    settings.weights = "seed:1";
    const auto weights = WeightsCache().find(settings, 3);
    const Image expected = run_tiny(EngineKind::reference, {}, scene, make_seeded_weights(settings.network, 3, 1));
    return max_abs_difference(run_tiny(EngineKind::torch, device, scene, *weights).view(), expected.view());
}

/// Of each rank, on rank 0.
std::vector<double> tiny_errors(const Communicator& world, DeviceId device) {
    double error = 0;
    together(world, [&] { error = tiny_error(device); });
    std::vector<double> errors;
    for (const auto& row : world.gather(std::array{error})) errors.push_back(row.front());
    return errors;
}

void append(Findings& all, Findings more) {
    for (auto& finding : more) all.push_back(std::move(finding));
}

void say(const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);  // what is known stands there should the next step hang
}

/// Rank 0 says what it has before it leaves the ranks that do not answer.
ReductionTrial try_reductions_or_say(const Communicator& world, const Topology& topology, double timeout_s,
                                     const Findings& so_far) {
    try {
        return try_reductions(world, topology, timeout_s);
    } catch (const RanksMissing& error) {
        Findings all = so_far;
        all.push_back(
            {Severity::wrong, error.what(),
             "look at those ranks' nodes: GPU (nvidia-smi), driver, network (NCCL_SOCKET_IFNAME, NCCL_IB_HCA); "
             "NCCL_DEBUG=INFO says more"});
        say(findings_text(all));
        throw Error(error.what(), ExitCode::usage);
    }
}

ExitCode end_check(const Communicator& world, const Findings& all, const Findings& wrong_results) {
    ExitCode code = ExitCode::ok;
    if (any_wrong(all)) code = ExitCode::usage;
    if (!wrong_results.empty()) code = ExitCode::verification;
    if (code == ExitCode::ok && !interruption().empty()) code = ExitCode::partial;  // the end of the job's time
    if (world.is_root()) say(findings_text(all));
    return static_cast<ExitCode>(static_cast<int>(world.max(static_cast<double>(code))));
}

ExitCode run_check(const CheckArguments& arguments, RankSession& session) {
    const Communicator& world = session.world();
    session.watch(StudySettings{}.watchdog_s);
    DeviceChoice device = DeviceChoice::automatic;
    together(world, [&] { device = parse_enum<DeviceChoice>(arguments.device); });
    const Topology topology = gather_topology(world, {device, SharingRule::allow});  // sharing becomes a finding
    const DeviceId own_device = topology.ranks[static_cast<size_t>(world.rank())].device;
    const auto facts = gather_launch_facts(world, topology, device != DeviceChoice::cpu);
    if (world.is_root()) say(launch_text(facts, mpi_is_cuda_aware()));
    Findings all = launch_findings(facts);
    const auto links = measure_links(world, topology);
    append(all, find_link_findings(topology, links));
    if (world.is_root()) say(links_text(topology, links));
    const auto errors = tiny_errors(world, own_device);
    const Findings wrong_results = tiny_findings(errors, kTolerance, topology);
    append(all, wrong_results);
    if (world.is_root()) say(tiny_text(errors));
    const auto trial = try_reductions_or_say(world, topology, arguments.timeout_s, all);
    if (world.is_root()) say("figures are gathered by " + trial.how + "\n");
    append(all, trial.findings);
    return end_check(world, all, wrong_results);
}

}  // namespace

void add_check_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<CheckArguments>();
    CLI::App* command = app.add_subcommand("check", "is this machine and this launch all right?");
    command->add_option("--device", arguments->device, "auto | cpu | cuda");
    command->add_option("--timeout", arguments->timeout_s, "seconds after which NCCL's missing ranks are named (60)")
        ->check(number_in_range(1e-3, kMaxSeconds, "s"));
    command->callback([&chosen, arguments] {
        chosen = [arguments](const Arguments& raw) {
            return with_ranks(raw, [&](RankSession& session) { return run_check(*arguments, session); });
        };
    });
}

}  // namespace pb
