// Compares points of one study that differ only in their ranks: the gain from more ranks, and where the rest of the
// time goes. Pure.
#pragma once

#include "base/statistics.hpp"
#include "measure/study/point_groups.hpp"
#include "measure/summary.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb::measure {

// Finds peak memory over the width of the image, and where it jumps. The peak follows the pixels of the largest forward
// call, which depend on the path of the image through the network. Pure.

/// path: the path changed, and the pixels of a forward call changed in the same direction as the peak. not_pixels: the
/// path changed, but the pixels did not change that way. not_path: the path did not change.
enum class JumpCause : uint8_t { path, not_pixels, not_path };

/// Neighbouring widths between which the peak changes by more than the width explains.
struct MemoryJump {
    int64_t before = 0, after = 0;       // indices of the points
    double peak_ratio = 1;               // after / before
    std::optional<double> pixels_ratio;  // pixels of the largest forward call, after / before
    JumpCause cause = JumpCause::path;
    double excess = 1;        // peak ratio / ratio of the widths
    bool is_largest = false;  // its excess is the farthest from 1 in the study, up or down
};

/// Points that differ only in the width of the image, or also in its height when each width has only one height.
struct WidthSeries {
    PointSet all;                   // sorted by width
    std::vector<MemoryJump> jumps;  // sorted by width
};

/// Returns series of at least three widths with a peak, in the order of the study.
[[nodiscard]] std::vector<WidthSeries> find_width_series(const StudyPoints& points);

/// strong: the same image for any number of ranks. weak: the same number of pixels per rank (image.height_per_rank,
/// replicate).
enum class ScalingKind : uint8_t { strong, weak };

/// A part of the ranks' time, as a share of ranks x wall time, summed over ranks and repetitions. Stages of a device
/// overlap with those of the host, so the parts of such points need not add up to 1.
struct TimePart {
    std::string name;  // a stage, "waiting" (for the slowest rank) or "other"
    double part = 0;
};

/// The time a rank waited for the slowest one, median over repetitions.
struct RankWaiting {
    int rank = 0;
    double waiting_s = 0;
};

struct ScalingPoint {
    int64_t point = 0;  // index
    int num_ranks = 1;
    double pipeline_s = 0;
    std::optional<Interval> pipeline_range;
    double speedup = 1;                     // pixels per second / those of the base
    std::optional<Interval> speedup_range;  // 95 % (see compare_times); covers these repetitions only
    double ideal = 1;                       // ranks / ranks of the base
    std::optional<double> bound;            // largest speed-up that the split of the windows allows
    double efficiency = 1;                  // speedup / ideal
    std::optional<Interval> efficiency_range;
    std::optional<double> efficiency_bound;  // bound / ideal
    std::optional<double> of_bound;          // speedup / bound
    // For simulated points: the device time of the busiest rank; the excess of the pass over it (pipeline_s /
    // simulated_s - 1); that excess in seconds per window.
    std::optional<double> simulated_s, beyond_bound, overhead_per_window_s;
    std::optional<double> between_s;        // between passes: figures are gathered, the output is marked
    std::optional<double> host_cores;       // process CPU time of all ranks / time of the passes
    std::optional<double> cpu_per_patch_s;  // process CPU time per patch
    std::optional<double> host_peak_mib;    // largest over the ranks
    std::vector<TimePart> parts;            // parts that are not zero
    std::vector<RankWaiting> waiting;       // one for each rank
    std::string binding;
};

struct Scaling {
    ScalingKind kind = ScalingKind::strong;
    std::string label;  // the settings that the points share
    bool simulated = false;
    std::vector<ScalingPoint> points;   // by number of ranks; the first is the base
    std::vector<std::string> warnings;  // differences between the points other than their ranks
};

/// Returns groups with at least two rank counts, in the order of the study. Leaves out points without figures. Of
/// several points with one rank count, the first is used.
[[nodiscard]] std::vector<Scaling> find_scalings(const StudyPoints& points);

}  // namespace pb::measure
