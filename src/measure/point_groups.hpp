// Points of a study that differ in one setting only, or in a few: the only place that says which belong together.
#pragma once

#include "plan/plan.hpp"
#include "record/point.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pb {

/// How the image is cut and fed: what may differ between the points of which one is recommended.
inline constexpr std::array<std::string_view, 6> kCutting{"patch", "halo", "batch", "last_batch", "slots", "overlap"};

struct PointGroup {
    std::string key;              // 16 hex digits of what the points share: the same in every file that has the group
    std::string label;            // of its first point, without the settings; " (point 3)" tells groups apart
    std::vector<size_t> members;  // places in the study, in order
};

/// Groups in the order of their first points; settings count as they settled (device, ranks, halo, sigma, extent). A
/// point that differs from all others is a group of one. `image.width` and `image.height` stand for the extent of the
/// image, too.
[[nodiscard]] std::vector<PointGroup> group_points(const std::vector<PointTrace>& traces,
                                                   std::span<const std::string_view> but_for);
[[nodiscard]] std::vector<PointGroup> group_points(const std::vector<PointTrace>& traces, std::string_view but_for);

}  // namespace pb
