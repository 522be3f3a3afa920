// Whether a point can run on this launch, and on which devices.
#include "base/rank_list.hpp"
#include "config/text.hpp"
#include "plan/bands.hpp"
#include "plan/plan.hpp"
#include "plan/prediction.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::plan {

namespace {

void check_ranks(const Point& point, const Topology& topology) {
    if (topology.num_ranks() < 1) throw UsageError("no ranks were started");
    if (point.num_ranks > topology.num_ranks())
        throw Refused(fmt::format("ranks = {0}: only {1}; start more with mpirun -n {0} (patchbench plan: --ranks {0})",
                                  point.num_ranks, were_started(topology.num_ranks())));
}

DeviceKind resolve_device(const config::PointSettings& settings, const Topology& topology,
                          const std::vector<int>& members) {
    if (settings.device == config::DeviceChoice::cpu) return DeviceKind::cpu;
    const bool is_free = settings.device == config::DeviceChoice::automatic;
    if (is_free && settings.engine != EngineKind::torch) return DeviceKind::cpu;
    std::vector<int> without;
    for (const int rank : members)
        if (!topology.ranks[static_cast<size_t>(rank)].device.is_cuda()) without.push_back(rank);
    if (without.empty()) return DeviceKind::cuda;
    if (is_free && without.size() == members.size()) return DeviceKind::cpu;
    throw Refused("device = " + std::string(name_of(settings.device)) + ": no CUDA device on " + ranks_text(without) +
                  "; choose device: cpu, fewer ranks, or start one rank for each device");
}

void check_native(const config::PointSettings& settings) {
    if (settings.dtype != Precision::fp32)
        throw UsageError("dtype = " + std::string(name_of(settings.dtype)) +
                         ": engine native computes in fp32 only; choose dtype: fp32, or engine: torch");
    if (settings.layout != Layout::channels_last)
        throw UsageError("layout = contiguous: engine native takes channels_last only; choose that, or engine: torch");
}

bool is_onnx(const config::NetworkSetting& network) { return network.file.ends_with(".onnx"); }

void check_engine_of_brought(const config::PointSettings& settings) {
    const EngineKind engine = settings.engine;
    const bool takes_onnx = engine == EngineKind::onnxruntime || engine == EngineKind::openvino;
    const bool runs =
        engine == EngineKind::python || (is_onnx(settings.network) ? takes_onnx : engine == EngineKind::pytorch);
    if (settings.network.is_brought() && !runs)
        throw Refused(fmt::format(
            "network = {}: engine {} does not know it; choose engine: {}", settings.network.file, name_of(engine),
            is_onnx(settings.network) ? "onnxruntime, openvino or python:FILE" : "pytorch or python:FILE"));
}

void check_device_choices(const Point& point) {
    const config::PointSettings& settings = point.settings;
    const std::string dtype = "dtype = " + std::string(name_of(settings.dtype));
    const bool is_cpu = point.device == DeviceKind::cpu;
    const std::string engine = "engine = " + config::format_setting(settings.engine);
    check_engine_of_brought(settings);
    if (settings.engine != EngineKind::torch && settings.engine != EngineKind::timed && !is_cpu)
        throw UsageError(engine + ": computes on the CPU only; choose device: cpu");
    if (is_carried(point)) check_carrying_engine(point);
    if (settings.engine == EngineKind::native) check_native(settings);
    if (settings.engine == EngineKind::reference && settings.dtype != Precision::fp32)
        throw UsageError(dtype + ": engine reference computes in fp64 on fp32 samples; choose dtype: fp32");
    if (has_own_process(settings.engine) && settings.dtype != Precision::fp32)
        throw UsageError(dtype + ": " + engine + " computes in fp32 only; choose dtype: fp32");
    if (settings.engine == EngineKind::timed) {
        if (!is_cpu) throw UsageError("engine = timed: simulates devices on the CPU; choose device: cpu");
        return;
    }
    if (is_cpu && (settings.dtype == Precision::tf32 || settings.dtype == Precision::fp16))
        throw Refused(dtype + ": needs a CUDA device; on the CPU choose fp32 or bf16");
}

/// Allows more threads than cores, up to a limit, so that a study can measure what they cost.
void check_threads(const Point& point, const Topology& topology) {
    constexpr int64_t kMostPerCore = 16;
    const RankPlace& place = topology.ranks.front();
    if (place.affinity.empty()) return;  // a plan for another machine
    const int64_t most = kMostPerCore * std::max(1, place.num_cores);
    if (point.settings.threads.count > most)
        throw Refused(fmt::format("threads = {}: rank 0 may use {} core(s); choose threads: auto, or at most {}",
                                  point.settings.threads.count, place.num_cores, most));
}

int threads_of(const config::PointSettings& settings, const Topology& topology, const std::vector<int>& members) {
    if (!settings.threads.is_automatic()) return static_cast<int>(settings.threads.count);
    int most = 1;
    for (const int rank : members) most = std::max(most, topology.ranks[static_cast<size_t>(rank)].threads);
    return most;
}

void check_sharing(Point& point, const Topology& topology, const std::vector<int>& members, config::SharingRule rule) {
    if (point.device != DeviceKind::cuda) return;
    for (std::vector<int> ranks : shared_devices(topology)) {
        std::erase_if(ranks,
                      [&](int rank) { return std::find(members.begin(), members.end(), rank) == members.end(); });
        if (ranks.size() < 2) continue;
        const RankPlace& place = topology.ranks[static_cast<size_t>(ranks.front())];
        const std::string sharing = ranks_text(ranks) + " share " + place.device_name + " " +
                                    (place.device_uuid.empty() ? place.pci_bus_id : place.device_uuid) + " on " +
                                    place.host;
        if (rule == config::SharingRule::error)
            throw UsageError(
                "devices.sharing = error: " + sharing +
                "; start one rank for each device, or set devices.sharing: allow (figures are then INVALID)");
        point.notes.push_back(sharing + ": not comparable as performance figures");
    }
}

}  // namespace

EngineKind fastest_engine(const Point& point) {
    const config::PointSettings& settings = point.settings;
    if (settings.network.is_brought()) return is_onnx(settings.network) ? EngineKind::onnxruntime : EngineKind::pytorch;
    const bool fits_native = point.device == DeviceKind::cpu && settings.dtype == Precision::fp32 &&
                             settings.layout == Layout::channels_last;
    if (!fits_native) return EngineKind::torch;
    if (settings.memory_limit_mib == 0 || is_carried(point)) return EngineKind::native;
    // Its transformed weights are four times as large. The halo may be open, so the patch stands for the window.
    Point native = point;
    native.settings.engine = EngineKind::native;
    const bool is_whole = settings.workload == config::Workload::whole;
    const int64_t pixels = is_whole ? point.source.extent.pixels() : settings.patch * settings.patch;
    const double peak_mib = peak_parts(native).peak(pixels, 1) / kMiB;
    return peak_mib <= static_cast<double>(settings.memory_limit_mib) ? EngineKind::native : EngineKind::torch;
}

void place_point(Point& point, const config::StudySettings& study, const Topology& topology) {
    check_ranks(point, topology);
    const auto members = members_of(topology, point.num_ranks, point.settings.placement);
    if (point.settings.engine.is_automatic && point.settings.network.is_brought())  // engines decide on the device
        point.settings.engine = is_onnx(point.settings.network) ? EngineKind::onnxruntime : EngineKind::pytorch;
    point.device = resolve_device(point.settings, topology, members);
    check_threads(point, topology);
    point.threads = threads_of(point.settings, topology, members);
    if (point.settings.engine.is_automatic) point.settings.engine = fastest_engine(point);
    check_device_choices(point);
    check_sharing(point, topology, members, study.device_sharing);
    if (point.settings.cuda_graph && point.device == DeviceKind::cpu)
        point.notes.emplace_back("cuda_graph has no effect on the CPU");
    if (point.settings.fusion == FusionKind::on && point.device == DeviceKind::cpu)
        point.notes.emplace_back("fusion has no effect on the CPU, where layers are fused always");
}

}  // namespace pb::plan
