// Finds peak memory over the width of the image, and where it jumps. The peak follows the pixels of the largest forward
// call, which depend on the path of the image through the network. Pure.
#pragma once

#include "measure/study/point_groups.hpp"

#include <optional>
#include <vector>

namespace pb::measure {

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

}  // namespace pb::measure
