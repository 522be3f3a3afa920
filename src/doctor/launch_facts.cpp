#include "doctor/launch_facts.hpp"

#include "base/text.hpp"
#include "comm/launcher.hpp"
#include "device/processors.hpp"
#include "device/telemetry/telemetry.hpp"
#include "image/quality.hpp"
#include "image/synthetic.hpp"
#include "record/rank.hpp"
#include "record/row.hpp"
#include "run/agreement.hpp"
#include "run/environment.hpp"
#include "run/pipeline/pipeline.hpp"
#include "run/weights_source.hpp"

#include "patchbench/device/device.hpp"

#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace pb::doctor {

/// What each rank sends: all but its place, which the topology has.
template <class V, record::Like<RankFacts> F>
void fields(V& v, F& facts) {
    v("announced_local_rank", facts.announced_local_rank);
    v("cores", facts.cores);
    v("memory_nodes", facts.memory_nodes);
    v("device_memory_node", facts.device_memory_node);
    v("node_cores", facts.node_cores);
    v("visible_devices", facts.visible_devices);
    v("why_no_device", facts.why_no_device);
    v("variables", facts.variables);
    v("libraries", facts.libraries);
    v("limits_kib", facts.limits_kib);
}

namespace {

/// why_no_cuda_device() on a machine without GPUs: not worth reporting.
constexpr const char* kNoDriver = "no NVIDIA driver";

std::map<std::string, int64_t> own_limits_kib() {
    constexpr std::pair<const char*, __rlimit_resource> kLimits[] = {
        {"-v", RLIMIT_AS}, {"-f", RLIMIT_FSIZE}, {"-l", RLIMIT_MEMLOCK}};
    std::map<std::string, int64_t> limits;
    for (const auto& [option, resource] : kLimits) {
        rlimit limit{};
        if (::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
            limits[option] = static_cast<int64_t>(limit.rlim_cur >> 10);
    }
    return limits;
}

RankFacts own_facts(const plan::RankPlace& place, bool wants_gpu) {
    RankFacts facts;
    facts.announced_local_rank = comm::launcher_local_rank();
    const device::ProcessorLayout layout;
    const auto processors = device::affinity();
    facts.cores = layout.cores_of(processors);
    facts.memory_nodes = layout.memory_nodes_of(processors);
    facts.node_cores = static_cast<int>(layout.cores_of(layout.processors()).size());
    if (place.device.is_cuda()) facts.device_memory_node = layout.memory_node_of_device(place.pci_bus_id);
    if (wants_gpu) {
        for (const auto& device : device::visible_cuda_devices()) facts.visible_devices.push_back(device.uuid);
        if (const auto why = device::why_no_cuda_device(); why != kNoDriver)
            facts.why_no_device = without_controls(why, ' ');
    }
    for (const auto& name : launch_variables())
        if (const char* value = std::getenv(name.c_str())) facts.variables[name] = without_controls(value, ' ');
    facts.libraries = {{"patchbench", "", run::version_text()}};
    for (const auto& [name, header, loaded] : run::library_versions())
        facts.libraries.push_back({name, without_controls(header, ' '), without_controls(loaded, ' ')});
    facts.limits_kib = own_limits_kib();
    return facts;
}

constexpr double kTolerance = 1e-4;  // of a value in [0, 1], against double precision

image::Image run_tiny(EngineKind engine, DeviceId device, const image::Image& scene, const engine::Weights& weights) {
    device::select_device(device);
    engine::EngineOptions options;
    options.engine = engine;
    options.device = device;
    options.layout = Layout::contiguous;
    device::Stream stream(device);
    return run::run_window(*make_denoiser(weights, options), scene, {}, device, stream);
}

/// Largest difference between this rank's device and the naive double-precision reference.
double tiny_error(DeviceId device) {
    image::Image scene({32, 32}, 3, DType::f32);
    image::fill_scene(1, 0, 0, scene.view());
    config::PointSettings settings;
    settings.network = network::kind_of<network::DncnnShape>();
    settings.weights = "seed:1";
    const auto weights = run::WeightsCache().find(settings, 3);
    const image::Image expected =
        run_tiny(EngineKind::reference, {}, scene, engine::make_seeded_weights(settings.network, 3, 1));
    return image::max_abs_difference(run_tiny(EngineKind::torch, device, scene, *weights).view(), expected.view());
}

}  // namespace

std::vector<RankFacts> gather_launch_facts(const comm::Communicator& world, const plan::Topology& topology,
                                           bool wants_gpu) {
    const plan::RankPlace& mine = topology.place_of(world.rank());
    std::vector<RankFacts> all;
    for (const auto& row : world.gather(record::pack(own_facts(mine, wants_gpu)))) {
        auto facts = record::unpack<RankFacts>(row);
        facts.place = topology.ranks[all.size()];
        all.push_back(std::move(facts));
    }
    return all;
}

Findings find_other_work(const comm::Communicator& world, const plan::Topology& topology) {
    constexpr std::chrono::milliseconds kWatched{500};
    device::TelemetryOptions options = device::usual_telemetry_options();
    options.first_on_node = topology.place_of(world.rank()).local_rank == 0;
    device::Telemetry sources(options);
    world.barrier();
    device::TelemetryWindow window(sources);
    std::this_thread::sleep_for(kWatched);
    std::vector<record::RankTrace> ranks;
    for (const auto& row : world.gather(record::pack(window.finish()))) {
        record::RankTrace rank;
        rank.host = topology.ranks[ranks.size()].host;
        rank.telemetry = record::unpack<TelemetryRecord>(row);
        ranks.push_back(std::move(rank));
    }
    const std::string work = record::foreign_work_of(ranks);
    if (work.empty()) return {};
    return {{Severity::advice, work, "measure when that has ended (`top` names it): times would be too long"}};
}

NetworkTrial try_network(const comm::Communicator& world, const plan::Topology& topology) {
    double error = 0;
    run::together(world, [&] { error = tiny_error(topology.place_of(world.rank()).device); });
    NetworkTrial trial;
    for (const auto& row : world.gather(std::array{error})) trial.errors.push_back(row.front());
    trial.wrong = tiny_findings(trial.errors, kTolerance, topology);
    return trial;
}

}  // namespace pb::doctor
