// Groups the points of a study that differ in one setting only, or in a few. Only this file decides which points belong
// together.
#pragma once

#include "plan/plan.hpp"
#include "record/point.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pb::measure {

/// Settings that say how the image is cut and fed. They may differ between the points from which one is recommended.
inline constexpr std::array<std::string_view, 6> kCutting{"patch", "halo", "batch", "last_batch", "slots", "overlap"};

/// The engine and what its process is told.
inline constexpr std::array<std::string_view, 2> kEngineSettings{"engine", "worker.options"};

struct PointGroup {
    std::string key;              // hash of the shared settings, 16 hex digits; the same in every file
    std::string label;            // label of its first point without the settings; " (point 3)" tells groups apart
    std::vector<size_t> members;  // indices into the study, ascending
};

/// Returns the groups in the order of their first points. Settings are compared by their resolved values (device,
/// ranks, halo, sigma, extent). A point that differs from all others is a group of one. `image.width` and
/// `image.height` also stand for the extent of the image.
[[nodiscard]] std::vector<PointGroup> group_points(const std::vector<record::PointTrace>& traces,
                                                   std::span<const std::string_view> but_for);
[[nodiscard]] std::vector<PointGroup> group_points(const std::vector<record::PointTrace>& traces,
                                                   std::string_view but_for);

}  // namespace pb::measure
