// The measurements of one rank of a point. Values only.
#pragma once

#include "base/telemetry_record.hpp"
#include "record/fields.hpp"

#include "patchbench/base/enum_names.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pb::record {

/// The best rates that a rank's device and host reach, measured in the same run as the figures that they are compared
/// with. A value is absent when it was not or could not be measured.
enum class Bound : uint8_t {
    matmul_tflops,         // matrix product in the precision of the point
    conv_tflops,           // 3x3 convolution of 64 channels, channels_last, in the precision of the point
    device_copy_gb_per_s,  // within the device's memory, read and written bytes; on a CPU with all threads of the rank
    h2d_gb_per_s,          // pinned host memory to the device
    d2h_gb_per_s,          // device to pinned host memory
    host_copy_gb_per_s     // within the host's memory by one thread, read and written bytes
};

struct BoundsRecord : EnumArray<Bound, std::optional<double>> {
    [[nodiscard]] bool empty() const { return *this == BoundsRecord{}; }
    friend bool operator==(const BoundsRecord&, const BoundsRecord&) = default;
};

template <class V, Like<BoundsRecord> B>
void fields(V& v, B& bounds) {
    for (const auto& [bound, name] : enum_table<Bound>()) v(name, positive_amount(bounds[bound]));
}

/// The stages of the work, in the order in which they process a pixel.
enum class Stage : uint8_t { read, noise, gather, h2d, forward, d2h, scatter, exchange, write };

using StageSeconds = EnumArray<Stage, double>;

/// The memory of one rank during the timed repetitions of a point, in bytes.
struct RankMemory {
    int64_t allocated_peak = 0;  // peak of the engine's allocator
    int64_t reserved_peak = 0;   // peak of the engine's allocator
    int64_t device_used = 0;     // memory in use on the whole device by all processes (CPU: 0, see host_peak)
    int64_t host_peak = 0;       // resident set of the process; 0: the kernel does not report it
    int64_t engine_peak = 0;     // resident set of the process that runs the network: this one, or the engine's own
};

template <class V, Like<RankMemory> M>
void fields(V& v, M& memory) {
    v("allocated_peak_mib", mib(memory.allocated_peak));
    v("reserved_peak_mib", mib(memory.reserved_peak));
    v("device_used_mib", mib(memory.device_used));
    v("host_peak_mib", mib(memory.host_peak));
    v("engine_peak_mib", mib(memory.engine_peak),
      "resident peak of the process that runs the network: the rank's, or that of an engine in a process of its own");
}

/// One piece of a stage's work.
struct Span {
    Stage stage = Stage::gather;
    int64_t batch = 0;  // number of the batch on this rank; -1: no batch (exchange)
    double begin_s = 0;
    double end_s = 0;
};

template <class V, Like<Span> S>
void fields(V& v, S& span) {
    v("stage", span.stage);
    v("batch", whole(span.batch, -1), "which of the rank's batches; -1: of none");
    v("begin_s", drawn_seconds(span.begin_s));
    v("end_s", drawn_seconds(span.end_s));
}

/// The pass that a timeline shows: the last warm-up, or the last timed repetition.
enum class TimelineOf : uint8_t { warm_up, repetition };

constexpr auto enum_names(TimelineOf) {
    return std::to_array<EnumName<TimelineOf>>(
        {{TimelineOf::warm_up, "warm-up"}, {TimelineOf::repetition, "repetition"}});
}

/// The stages of one rank in one pass of a point. All ranks use one clock: 0 is when the first rank left the barrier.
struct Timeline {
    std::vector<Span> spans;   // the first spans; empty: not recorded
    int64_t num_dropped = 0;   // later spans, beyond the limit `timeline`
    double clock_error_s = 0;  // largest error of this rank's clock relative to rank 0's; 0 on the same host
    TimelineOf of = TimelineOf::warm_up;
    [[nodiscard]] bool empty() const { return spans.empty(); }
};

template <class V, Like<Timeline> T>
void fields(V& v, T& timeline) {
    v("of", timeline.of);
    v("clock_error_s", amount(timeline.clock_error_s), "how far this rank's clock may be off rank 0's");
    v("dropped", whole(timeline.num_dropped), "later spans that were not kept");
    v.columns(timeline.spans);
}

template <class V, Like<TelemetrySample> S>
void fields(V& v, S& sample) {
    v("at_s", amount(sample.at_s));
    for (const auto& [gauge, name] : enum_table<Gauge>()) v(name, amount(sample[gauge]));
}

template <class V, Like<TelemetryRecord> T>
void fields(V& v, T& record) {
    v("first_on_node", unwritten(record.first_on_node));
    for (const auto& [meter, name] : enum_table<Meter>()) v(name, amount(record[meter]), meaning_of(meter));
    v.group("samples", [&](auto& samples) { samples.columns(record.samples); });
}

/// Sets first_on_node: only the first rank of a node reads these two meters.
inline const char* complete(TelemetryRecord& record) {
    record.first_on_node = record[Meter::cpu_energy_j].has_value() || record[Meter::host_cpu_s].has_value();
    return nullptr;
}

/// The share of one rank in a point. Vectors have one entry per timed repetition.
struct RankTrace {
    int rank = 0;             // number among all started ranks
    std::string host;         // from the topology; neither sent nor written
    int64_t num_windows = 0;  // schedule dynamic: this and the next two are those of the last repetition
    int64_t num_patches = 0;
    int64_t num_batches = 0;
    double work_per_call = 1;    // arithmetic of a batch of the pass, on average, by that of a resident forward call
    int64_t border_bytes = 0;    // of border rows that it sent to its neighbours in a pass; 0: there are none
    std::vector<double> wall_s;  // from the barrier to this rank's last written pixel (before the closing barrier)
    std::vector<StageSeconds> stage_s;  // device stages from events; stages may overlap, so their sum may exceed wall_s
    std::vector<double> forward_call_s;  // with a resident batch, one entry per call
    std::vector<double> round_trip_s;  // of the same calls with the hand-over; empty: the rank itself runs the network
    std::vector<double> cpu_s;         // process CPU time
    int64_t allocations = 0;           // engine allocations during the timed repetitions of a CUDA rank (should be 0)
    Timeline timeline;
    RankMemory memory;
    TelemetryRecord telemetry;
    BoundsRecord bounds;  // empty: not measured
};

// What else went on on the hosts while a point was timed, in words, from what their kernels counted.

/// "node1: other processes used 1.3 cores, something waited for a core 34 % of the time"; several hosts are joined by
/// "; ". Only what is large enough to move a time by percents is named. Empty: nothing was, or nothing could be read.
/// Takes host and telemetry of each rank.
[[nodiscard]] std::string disturbance_of(std::span<const RankTrace> ranks);

/// The part of `disturbance_of` that only other processes and the hypervisor can cause: cores that they took.
[[nodiscard]] std::string foreign_work_of(std::span<const RankTrace> ranks);

/// The fields under `samples` in the line of a point. Memory, telemetry and bounds are elsewhere in the line.
template <class V, Like<RankTrace> R>
void fields(V& v, R& rank) {
    v("rank", count(rank.rank));
    v("num_windows", count(rank.num_windows));
    v("num_patches", count(rank.num_patches));
    v("num_batches", count(rank.num_batches));
    v("work_per_call", later(rank.work_per_call),
      "arithmetic of a batch of the pass, on average, by that of a call of forward_call_s: not 1 where "
      "a batch or band is shorter, or windows are cropped, of which those at the border of the image need less");
    v("border_bytes", later(rank.border_bytes),
      "border rows of all layers that the rank sent to its neighbours in a pass (halo: exchanged); 0: none");
    v("wall_s", rank.wall_s);
    v("stage_s", by_name<Stage>(rank.stage_s, rank.wall_s), "stages that took place");
    v("forward_call_s", rank.forward_call_s, "one number a call, by the clock of the process that runs the network");
    v("round_trip_s", rank.round_trip_s,
      "one number a call, with the hand-over to an engine in a process of its own; empty: there is none");
    v("cpu_s", rank.cpu_s);
    v("allocations", whole(rank.allocations));
    v("timeline", or_null(rank.timeline),
      "the first stage spans of one pass; 0 s is when the first rank of the point left the barrier, on rank 0's clock");
}

// Where the time of a forward call goes, layer by layer. Values only.

/// One step of the network. Its figures are those of one call: FLOP and bytes follow from the graph, the time is the
/// mean over the calls.
struct LayerProfile {
    std::string layer;         // name of the convolution in checkpoints, else operation and index: "max_pool 3"
    std::string operation;     // "convolution 3x3, 64 to 64, relu"
    double flop = 0;           // 2 for each multiply-accumulate of a convolution
    double executed_flop = 0;  // fewer where the engine takes Winograd's method, without its transforms
    double bytes = 0;          // maps and weights, each value read and written once
    double seconds = 0;
};

template <class V, Like<LayerProfile> L>
void fields(V& v, L& layer) {
    v("layer", layer.layer);
    v("operation", layer.operation);
    v("flop", amount(layer.flop));
    v("executed_flop", amount(layer.executed_flop));
    v("bytes", amount(layer.bytes));
    v("seconds", amount(layer.seconds));
}

/// The layers of forward calls of the slowest rank, in the order of the call.
struct Profile {
    int rank = 0;  // number among all started ranks
    int64_t calls = 0;
    int64_t windows = 0;   // of a call
    double forward_s = 0;  // mean of a call; more than its layers together
    std::vector<LayerProfile> layers;
};

template <class V, Like<Profile> P>
void fields(V& v, P& profile) {
    v("rank", count(profile.rank), "the slowest one");
    v("calls", whole(profile.calls, 1), "forward calls after the repetitions; all figures are those of one call");
    v("windows", whole(profile.windows, 1), "of a call");
    v("forward_s", amount(profile.forward_s), "mean of a call; more than its layers together");
    v("layers", profile.layers, "in the order of the call; FLOP and bytes follow from the graph");
}

}  // namespace pb::record
