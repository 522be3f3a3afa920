// Peak memory over the width of the image, and where it jumps: it follows the pixels of the largest forward call, which
// depend on the path that an image takes through the network. Pure.
#pragma once

#include "measure/chart_groups.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb {

/// path: it changed, and the pixels of a forward call went the same way as the peak; not_pixels: it changed, but they
/// did not; not_path: it did not change.
enum class JumpCause : uint8_t { path, not_pixels, not_path };

template <>
struct EnumNames<JumpCause> {
    static constexpr std::array<std::pair<JumpCause, std::string_view>, 3> names{
        {{JumpCause::path, "path"}, {JumpCause::not_pixels, "not_pixels"}, {JumpCause::not_path, "not_path"}}};
};

/// Neighbouring widths between which the peak changes by more than the wider image explains.
struct MemoryJump {
    int64_t before = 0, after = 0;       // indices of the points
    double peak_ratio = 1;               // after / before
    std::optional<double> pixels_ratio;  // of the pixels of the largest forward call
    JumpCause cause = JumpCause::path;
    bool is_largest = false;  // of all jumps of the study: the peak ratio that is farthest from 1, up or down
};

/// Points that differ in the width of the image alone, or in height and width where each width has one height.
struct WidthSeries {
    PointSet all;                   // by width
    std::vector<MemoryJump> jumps;  // by width
};

/// Series of at least three widths with a peak, in the order of the study.
[[nodiscard]] std::vector<WidthSeries> find_width_series(const std::vector<PointTrace>& traces,
                                                         const std::vector<Summary>& summaries);

}  // namespace pb
