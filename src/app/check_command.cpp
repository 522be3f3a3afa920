// patchbench check: the doctor. Is this started right, which rank has which device, and does a tiny network give the
// right answer on each of them?
#include "app/commands.hpp"
#include "app/session.hpp"

#include "patchbench/comm/metric_reduction.hpp"
#include "patchbench/image/quality.hpp"
#include "patchbench/image/synthetic.hpp"
#include "patchbench/run/agreement.hpp"
#include "patchbench/run/launch.hpp"
#include "patchbench/run/run_window.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cmath>

namespace pb {

namespace {

struct CheckArguments {
    std::string device = "auto";
};

void print_topology(const Topology& topology) {
    fmt::print("{:>4}  {:<20}{:>6}  {:<7}{:<28}{:<14}{:>6}  {}\n", "rank", "host", "local", "device", "name", "bus",
               "cores", "affinity");
    for (const auto& place : topology.ranks)
        fmt::print("{:>4}  {:<20}{:>6}  {:<7}{:<28}{:<14}{:>6}  {}\n", place.rank, place.host, place.local_rank,
                   place.device.is_cuda() ? fmt::format("cuda:{}", place.device.index) : "cpu", place.device_name,
                   place.pci_bus_id.empty() ? "-" : place.pci_bus_id, place.num_cores, place.affinity);
}

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
    const Weights weights = make_seeded_weights(NetworkKind::dncnn, 3, 1);
    const Image expected = run_tiny(EngineKind::reference, {}, scene, weights);
    return max_abs_difference(run_tiny(EngineKind::torch, device, scene, weights).view(), expected.view());
}

ExitCode run_check(const CheckArguments& arguments, RankSession& session) {
    const Communicator& world = session.world();
    session.watch(StudySettings{}.watchdog_s);
    DeviceChoice device = DeviceChoice::automatic;
    together(world, [&] { device = parse_enum<DeviceChoice>(arguments.device); });
    const Topology topology = gather_topology(world, {device, SharingRule::error});
    if (world.is_root()) {
        print_version();
        fmt::print("\n");
        print_topology(topology);
    }
    const RankPlace& place = topology.ranks[static_cast<size_t>(world.rank())];
    const auto reduction = make_metric_reduction(world, ReductionKind::automatic, place.device, true, 60);
    double error = 0;
    together(world, [&] { error = tiny_error(place.device); });
    const auto errors = reduction->all_gather(std::array{error});
    constexpr double kTolerance = 1e-4;
    const bool right = world.max(std::isnan(error) || error > kTolerance ? 1 : 0) == 0;
    if (world.is_root()) {
        fmt::print("\nfigures are gathered by {}\n", reduction->name());
        for (size_t rank = 0; rank < errors.size(); ++rank)
            fmt::print("rank {}: tiny network differs from the fp64 reference by {:.2e}: {}\n", rank,
                       errors[rank].front(), errors[rank].front() <= kTolerance ? "ok" : "WRONG");
        fmt::print("\nCHECK: {}\n", right ? "ok" : "FAILED");
    }
    return right ? ExitCode::ok : ExitCode::verification;
}

}  // namespace

void add_check_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<CheckArguments>();
    CLI::App* command = app.add_subcommand("check", "is this machine and this launch all right?");
    command->add_option("--device", arguments->device, "auto | cpu | cuda");
    command->callback([&chosen, arguments] {
        chosen = [arguments](const Arguments& raw) {
            return with_ranks(raw, [&](RankSession& session) { return run_check(*arguments, session); });
        };
    });
}

}  // namespace pb
