// Whether a point can run on this launch, and on which devices.
#include "base/engine_support.hpp"
#include "base/network_format.hpp"
#include "base/text.hpp"
#include "config/text.hpp"
#include "network/native_layout.hpp"
#include "plan/context.hpp"
#include "plan/memory_limit.hpp"
#include "plan/plan.hpp"
#include "plan/rows.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>

namespace pb::plan {

namespace {

/// Native computes all but this part of a network in fp32, torch all of it in bf16 at twice that rate. With effective
/// rates of 520, 180 and 390 GFLOP/s native is the faster one from 0.82 on (docs/native.md).
constexpr double kLeastShareInBf16 = 0.85;

void check_ranks(const Point& point, const Topology& topology) {
    if (topology.num_ranks() < 1) throw UsageError("no ranks were started");
    if (point.num_ranks > topology.num_ranks())
        throw Refused(fmt::format("ranks = {0}: only {1}; start more with mpirun -n {0} (patchbench plan: --ranks {0})",
                                  point.num_ranks, were_started(topology.num_ranks())));
}

/// The members whose places lack something.
template <class Has>
std::vector<int> members_without(const Topology& topology, std::vector<int> members, Has has) {
    std::erase_if(members, [&](int rank) { return std::invoke(has, topology.place_of(rank)); });
    return members;
}

DeviceKind resolve_device(const config::PointSettings& settings, const Topology& topology,
                          const std::vector<int>& members) {
    if (settings.device == config::DeviceChoice::cpu) return DeviceKind::cpu;
    const bool is_free = settings.device == config::DeviceChoice::automatic;
    if (is_free && settings.engine != EngineKind::torch) return DeviceKind::cpu;
    const auto without =
        members_without(topology, members, [](const RankPlace& place) { return place.device.is_cuda(); });
    if (without.empty()) return DeviceKind::cuda;
    if (is_free && without.size() == members.size()) return DeviceKind::cpu;
    throw Refused("device = " + std::string(name_of(settings.device)) + ": no CUDA device on " + ranks_text(without) +
                  "; choose device: cpu, fewer ranks, or start one rank for each device");
}

void check_file(const config::PointSettings& settings) {
    const std::string& file = settings.network.file;
    if (!settings.network.is_custom() || settings.engine == EngineKind::python) return;
    const Layers layers = settings.network.has_layers() ? Layers::known : Layers::unknown;
    const std::string& obstacle = settings.network.obstacle;
    if (!runs_file(settings.engine, file, layers))
        throw Refused(fmt::format("network = {}: engine {} does not know it{}; choose engine: {}", file,
                                  config::format_setting(settings.engine),
                                  obstacle.empty() ? "" : fmt::format(" ({})", obstacle),
                                  engines_of_file_text(file, layers)));
    if (!is_code(file)) return;
    if (settings.dtype != Precision::fp32)
        throw UsageError(fmt::format("dtype = {}: {} is code, which computes as it is written; choose dtype: fp32",
                                     name_of(settings.dtype), file));
    if (settings.cuda_graph)
        throw UsageError("cuda_graph = true: " + file +
                         " is code, which may wait for the device; choose cuda_graph: false");
}

/// What runs the file of a network where the user named no engine.
EngineKind engine_of_file(const config::PointSettings& settings) {
    const auto engines = engines_of_file(settings.network.file);
    const auto fits = std::find_if(engines.begin(), engines.end(), [&](EngineKind engine) {
        return computes_in(engine, DeviceKind::cpu, settings.dtype);
    });
    return fits == engines.end() ? engines.front() : *fits;
}

void check_device_choices(const Point& point) {
    const config::PointSettings& settings = point.settings;
    check_file(settings);
    if (is_in_bands(point)) check_carrying_engine(point);
    if (settings.engine == EngineKind::timed && point.device != DeviceKind::cpu)
        throw UsageError("engine = timed: simulates devices on the CPU; choose device: cpu");
    const std::string refusal =
        precision_refusal(settings.engine, config::format_setting(settings.engine), point.device, settings.dtype);
    const bool computes_elsewhere = computes_in(settings.engine, DeviceKind::cuda, settings.dtype);
    if (!refusal.empty() && computes_elsewhere) throw Refused(refusal);  // a launch with such devices would run it
    if (!refusal.empty()) throw UsageError(refusal);
    if (settings.engine == EngineKind::native && settings.layout != Layout::channels_last)
        throw UsageError("layout = contiguous: engine native takes channels_last only; choose that, or engine: torch");
}

/// Refuses more threads than the member with the fewest cores may have, and notes more than one has cores for.
void check_threads(Point& point, const Topology& topology, const std::vector<int>& members) {
    const auto fewest = [&](auto count) -> const RankPlace& {
        const auto on = [&](int rank) { return topology.place_of(rank).*count; };
        return topology.place_of(*std::ranges::min_element(members, {}, on));
    };
    const RankPlace &bound = fewest(&RankPlace::num_cores), &busiest = fewest(&RankPlace::threads);
    if (bound.affinity.empty()) return;  // a plan for another machine
    const int64_t most = kMostThreadsPerCore * std::max(1, bound.num_cores);
    if (point.settings.threads.count > most)
        throw Refused(fmt::format("threads = {}: rank {} may use {}; choose threads: auto, or at most {}",
                                  point.settings.threads.count, bound.rank, counted(bound.num_cores, "core"), most));
    if (point.device == DeviceKind::cpu && point.settings.threads.count > busiest.threads)
        point.notes.push_back(fmt::format("threads = {} is more than rank {} has cores for: threads: auto takes {}",
                                          point.settings.threads.count, busiest.rank, busiest.threads));
}

int threads_of(const config::PointSettings& settings, const Topology& topology, const std::vector<int>& members) {
    if (!settings.threads.is_automatic()) return static_cast<int>(settings.threads.count);
    int most = 1;
    for (const int rank : members) most = std::max(most, topology.place_of(rank).threads);
    return most;
}

int fewest_sharers(const Topology& topology, const std::vector<int>& members) {
    std::map<int, int> members_on_node;
    for (const int rank : members) ++members_on_node[topology.place_of(rank).node];
    const auto counts = std::views::values(members_on_node);
    return counts.empty() ? 0 : topology.num_apart * *std::ranges::min_element(counts);
}

/// The setting that asks for NCCL by its name. Empty where none does, or it has no effect on the point. What `halo:
/// auto` will take is not known yet.
std::string nccl_setting(const Point& point, const config::StudySettings& study, const Topology& topology,
                         const std::vector<int>& members) {
    if (study.reduction == ReductionKind::nccl) return "metrics.reduction";
    const auto is_elsewhere = [&](int rank) {
        return topology.place_of(rank).node != topology.place_of(members.front()).node;
    };
    const bool may_exchange = is_exchanged(point) || (is_weighed(point) && point.settings.engine == EngineKind::native);
    const bool sends_rows = std::ranges::any_of(members, is_elsewhere) || (members.size() > 1 && may_exchange);
    return study.exchange == ExchangeKind::nccl && sends_rows ? "exchange" : "";
}

/// Refuses or notes ranks that share a GPU, and refuses NCCL where it cannot be.
void check_devices(Point& point, const config::StudySettings& study, const Topology& topology,
                   const std::vector<int>& members) {
    const std::string nccl = nccl_setting(point, study, topology, members);
    if (point.device != DeviceKind::cuda) {
        if (!nccl.empty())
            throw Refused(nccl + " = nccl: NCCL needs GPUs, and the point computes on the CPU; choose auto or mpi");
        return;
    }
    for (std::vector<int> ranks : shared_devices(topology)) {
        std::erase_if(ranks, [&](int rank) { return std::ranges::find(members, rank) == members.end(); });
        if (ranks.size() < 2) continue;
        const RankPlace& place = topology.place_of(ranks.front());
        const std::string sharing =
            ranks_text(ranks) + " share " + place.device_name + " " + place.device_id() + " on " + place.host;
        if (study.device_sharing == config::SharingRule::error)
            throw UsageError(
                "devices.sharing = error: " + sharing +
                "; start one rank for each device, or set devices.sharing: allow (figures are then INVALID)");
        if (!nccl.empty())
            throw Refused(
                fmt::format("{} = nccl: NCCL needs a GPU for each rank, and {}; choose auto or mpi", nccl, sharing));
        point.notes.push_back(sharing + ": not comparable as performance figures");
    }
}

/// Whether the point fits memory_limit_mib in a way without seams; of a halo that is weighed later. Others fit.
bool fits_without_seams(Point point) {
    point.most_mib = static_cast<double>(point.settings.memory_limit_mib);
    if (point.most_mib == 0 || point.halo || !is_weighed(point)) return true;
    return std::ranges::any_of(context_ways(point, std::nullopt),
                               [](const ContextWay& way) { return way.is_exact && way.obstacle.empty(); });
}

}  // namespace

EngineKind fastest_engine(const Point& point) {
    const config::PointSettings& settings = point.settings;
    if (!settings.network.has_layers()) return engine_of_file(settings);
    const bool fits_native =
        point.device == DeviceKind::cpu && computes_in(EngineKind::native, DeviceKind::cpu, settings.dtype) &&
        (settings.dtype != Precision::bf16 || point.multiplies_bf16) && settings.layout == Layout::channels_last;
    if (!fits_native) return EngineKind::torch;
    if (is_in_bands(point)) return EngineKind::native;
    if (settings.dtype == Precision::bf16 && network::winograd_share(point.graph()) < kLeastShareInBf16)
        return EngineKind::torch;
    Point native = point;  // its transformed weights are twice to four times as large as those of torch
    native.settings.engine = EngineKind::native;
    settle_winograd(native);
    if (!fits_limit(native)) return EngineKind::torch;
    Point torch = point;
    torch.settings.engine = EngineKind::torch;
    return !fits_without_seams(native) && fits_without_seams(torch) ? EngineKind::torch : EngineKind::native;
}

Layout fastest_layout(const Point& point) {
    const config::PointSettings& settings = point.settings;
    const bool is_found_by_cudnn = point.device == DeviceKind::cuda && settings.engine == EngineKind::torch &&
                                   settings.dtype == Precision::fp32 && settings.network.has_layers() &&
                                   settings.fusion != FusionKind::on;
    return is_found_by_cudnn && !is_in_bands(point) ? Layout::contiguous : Layout::channels_last;
}

void place_point(Point& point, const config::StudySettings& study, const Topology& topology) {
    check_ranks(point, topology);
    const auto members = members_of(topology, point.num_ranks, point.settings.placement);
    if (point.settings.engine.is_automatic && !point.settings.network.has_layers())  // engines decide on the device
        point.settings.engine = engine_of_file(point.settings);
    point.device = resolve_device(point.settings, topology, members);
    check_threads(point, topology, members);
    point.threads = threads_of(point.settings, topology, members);
    point.weight_sharers = fewest_sharers(topology, members);
    const std::vector<int> without_bf16 = members_without(topology, members, &RankPlace::multiplies_bf16);
    point.multiplies_bf16 = without_bf16.empty();
    if (point.settings.engine.is_automatic) point.settings.engine = fastest_engine(point);
    if (point.settings.layout.is_automatic) point.settings.layout = fastest_layout(point);
    check_device_choices(point);
    if (point.settings.engine == EngineKind::native && point.settings.dtype == Precision::bf16 &&
        !point.multiplies_bf16)
        throw Refused(native_bf16_refusal("on " + ranks_text(without_bf16)));
    note_work(point);
    if (is_carried(point)) point.most_mib = most_mib_of(point, topology);
    if (point.halo) settle_memory(point);
    if (is_carried(point)) check_strips(point);
    check_devices(point, study, topology, members);
    if (is_in_bands(point) && point.settings.fusion == FusionKind::on && point.device == DeviceKind::cuda)
        point.notes.emplace_back("fusion has no effect on carried and exchanged rows");
    if (is_exchanged(point) && point.settings.cuda_graph && point.device == DeviceKind::cuda)
        point.notes.emplace_back("cuda_graph has no effect on exchanged rows");
    if (point.settings.cuda_graph && point.device == DeviceKind::cpu)
        point.notes.emplace_back("cuda_graph has no effect on the CPU");
    if (point.settings.fusion == FusionKind::on && point.device == DeviceKind::cpu)
        point.notes.emplace_back("fusion has no effect on the CPU, where layers are fused always");
}

}  // namespace pb::plan
