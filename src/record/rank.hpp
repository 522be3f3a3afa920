// What was measured on one rank of a point. Values only.
#pragma once

#include "base/telemetry_record.hpp"
#include "record/bounds.hpp"
#include "record/fields.hpp"

#include "patchbench/base/enum_names.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pb {

/// Parts of the work, in the order in which a pixel meets them.
enum class Stage : uint8_t { read, noise, gather, h2d, forward, d2h, scatter, exchange, write };
inline constexpr size_t kNumStages = 9;
using StageSeconds = std::array<double, kNumStages>;

template <>
struct EnumNames<Stage> {
    static constexpr std::array<std::pair<Stage, std::string_view>, kNumStages> names{{{Stage::read, "read"},
                                                                                       {Stage::noise, "noise"},
                                                                                       {Stage::gather, "gather"},
                                                                                       {Stage::h2d, "h2d"},
                                                                                       {Stage::forward, "forward"},
                                                                                       {Stage::d2h, "d2h"},
                                                                                       {Stage::scatter, "scatter"},
                                                                                       {Stage::exchange, "exchange"},
                                                                                       {Stage::write, "write"}}};
};

/// Memory of one rank over the timed repetitions of a point, in bytes.
struct RankMemory {
    int64_t allocated_peak = 0;  // engine allocator
    int64_t reserved_peak = 0;   // engine allocator
    int64_t device_used = 0;     // whole device, everything on it (CPU: 0, see host_peak)
    int64_t host_peak = 0;       // resident set of the process; 0: the kernel does not tell
};

template <class V, Like<RankMemory> M>
void fields(V& v, M& memory) {
    v("allocated_peak_mib", mib(memory.allocated_peak));
    v("reserved_peak_mib", mib(memory.reserved_peak));
    v("device_used_mib", mib(memory.device_used));
    v("host_peak_mib", mib(memory.host_peak));
}

/// One piece of a stage's work.
struct Span {
    Stage stage = Stage::gather;
    int64_t batch = 0;  // which of the rank's batches; -1: of none (exchange)
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

/// What a rank did when, in one pass of a point. All ranks on one clock: 0 is when the first of them left the barrier.
struct Timeline {
    std::vector<Span> spans;   // the first ones; none: not recorded
    int64_t num_dropped = 0;   // later ones, beyond the setting `timeline`
    double clock_error_s = 0;  // how far this rank's clock may be off rank 0's; 0 on the same host
    bool is_timed = false;     // of the last timed repetition, else of the last warm-up
    [[nodiscard]] bool empty() const { return spans.empty(); }
};

template <class V, Like<Timeline> T>
void fields(V& v, T& timeline) {
    v("of", words(timeline.is_timed, "repetition", "warm-up"));
    v("clock_error_s", amount(timeline.clock_error_s), "how far this rank's clock may be off rank 0's");
    v("dropped", whole(timeline.num_dropped), "later spans that were not kept");
    v.columns(timeline.spans);
}

template <class V, Like<TelemetrySample> S>
void fields(V& v, S& sample) {
    v("at_s", amount(sample.at_s));
    for (const auto& [gauge, name] : EnumNames<Gauge>::names) v(name, amount(sample[gauge]));
}

template <class V, Like<TelemetryRecord> T>
void fields(V& v, T& record) {
    v("first_on_node", unwritten(record.first_on_node));
    for (const auto& [meter, name] : EnumNames<Meter>::names) v(name, amount(record[meter]), meaning_of(meter));
    v.group("samples", [&](auto& samples) { samples.columns(record.samples); });
}

/// Only the first rank of a node reads these two meters.
inline const char* complete(TelemetryRecord& record) {
    record.first_on_node = record[Meter::cpu_energy_j].has_value() || record[Meter::host_cpu_s].has_value();
    return nullptr;
}

/// One rank's share of a point. Vectors have one entry a timed repetition.
struct RankTrace {
    int rank = 0;             // among all that were started
    std::string host;         // as the topology says; not sent, not written
    int64_t num_windows = 0;  // schedule dynamic: of the last repetition, as the next two
    int64_t num_patches = 0;
    int64_t num_batches = 0;
    std::vector<double> wall_s;          // barrier to own last pixel written (before the closing barrier)
    std::vector<StageSeconds> stage_s;   // device stages by events; may overlap, so they need not add up to wall_s
    std::vector<double> forward_call_s;  // resident batch, one entry a call
    std::vector<double> cpu_s;           // process CPU time
    int64_t allocations = 0;             // engine allocations inside the timed repetitions of a CUDA rank (0 is right)
    Timeline timeline;
    RankMemory memory;
    TelemetryRecord telemetry;
    BoundsRecord bounds;  // empty: not measured
};

/// What stands under `samples` in a point's line; memory, telemetry and bounds have places of their own there.
template <class V, Like<RankTrace> R>
void fields(V& v, R& rank) {
    v("rank", count(rank.rank));
    v("num_windows", count(rank.num_windows));
    v("num_patches", count(rank.num_patches));
    v("num_batches", count(rank.num_batches));
    v("wall_s", rank.wall_s);
    v("stage_s", by_name<Stage>(rank.stage_s, rank.wall_s), "stages that took place");
    v("forward_call_s", rank.forward_call_s, "one number a call");
    v("cpu_s", rank.cpu_s);
    v("allocations", whole(rank.allocations));
    v("timeline", or_null(rank.timeline),
      "the first stage spans of one pass; 0 s is when the first rank of the point left the barrier, on rank 0's clock");
}

}  // namespace pb
