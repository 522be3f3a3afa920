// Points of a study that differ in one setting only, or in a few.
#pragma once

#include "plan/plan.hpp"
#include "record/point.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pb {

struct PointGroup {
    std::string label;            // of its first point, without the settings; " (point 3)" tells groups apart
    std::vector<size_t> members;  // places in the study, in order
};

/// Groups in the order of their first points; settings count as they settled (device, ranks, halo, sigma, extent). A
/// point that differs from all others is a group of one.
[[nodiscard]] std::vector<PointGroup> group_points(const std::vector<PointTrace>& traces,
                                                   std::span<const std::string_view> but_for);
[[nodiscard]] std::vector<PointGroup> group_points(const std::vector<PointTrace>& traces, std::string_view but_for);

}  // namespace pb
