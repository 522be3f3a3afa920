// Points of one study that differ only in their ranks: what more ranks bring, and what takes the rest. Pure.
#pragma once

#include "base/statistics.hpp"
#include "measure/summary.hpp"

#include "patchbench/base/enum_names.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb {

/// strong: the same image. weak: the same pixels a rank (image.height_per_rank).
enum class ScalingKind : uint8_t { strong, weak };

template <>
struct EnumNames<ScalingKind> {
    static constexpr std::array<std::pair<ScalingKind, std::string_view>, 2> names{
        {{ScalingKind::strong, "strong"}, {ScalingKind::weak, "weak"}}};
};

/// A part of the ranks' time: sums over ranks and repetitions / ranks x wall time. Stages of a device overlap with the
/// host's, so parts of such points need not add up to 1.
struct TimePart {
    std::string name;  // a stage, "waiting" (for the slowest rank) or "other" (neither)
    double part = 0;
};

/// How long a rank waited for the slowest one, median over repetitions.
struct RankWaiting {
    int rank = 0;
    double waiting_s = 0;
};

struct ScalingPoint {
    int64_t point = 0;  // index
    int num_ranks = 1;
    double pipeline_s = 0;
    std::optional<Interval> pipeline_range;
    double speedup = 1;                     // pixels a second / those of the base
    std::optional<Interval> speedup_range;  // 95 % (see compare_times); these repetitions only
    double ideal = 1;                       // ranks / ranks of the base
    std::optional<double> bound;            // the largest speed-up that the split of the windows allows
    double efficiency = 1;                  // speedup / ideal
    std::optional<Interval> efficiency_range;
    std::optional<double> efficiency_bound;  // bound / ideal
    std::optional<double> of_bound;          // speedup / bound
    // Simulated points: what the devices took, of the busiest rank; how much longer the pass was (pipeline_s /
    // simulated_s - 1), and that for each of its windows.
    std::optional<double> simulated_s, beyond_bound, overhead_per_window_s;
    std::optional<double> between_s;        // from one pass to the next: gathering of figures, marking of the output
    std::optional<double> host_cores;       // process CPU time of all ranks / time of the passes
    std::optional<double> cpu_per_patch_s;  // the same, for each patch
    std::optional<double> host_peak_mib;    // of one rank, the largest
    std::vector<TimePart> parts;            // where there is anything
    std::vector<RankWaiting> waiting;       // every rank
    std::string binding;
};

struct Scaling {
    ScalingKind kind = ScalingKind::strong;
    std::string label;  // what the points share
    bool simulated = false;
    std::vector<ScalingPoint> points;   // by ranks; the first is the base
    std::vector<std::string> warnings;  // what makes the points differ in more than their ranks
};

/// Groups with two rank counts or more, in the order of the study; points without figures are left out, of several with
/// one rank count the first counts.
[[nodiscard]] std::vector<Scaling> find_scalings(const std::vector<PointTrace>& traces,
                                                 const std::vector<Summary>& summaries);

}  // namespace pb
