// Strips of points with carried rows (network/strips.hpp): into how many the image is cut so that a rank takes no more
// memory than it may. With what it depends on: the form of Winograd's method, which may be smaller for the same reason.
#pragma once

#include "network/strips.hpp"
#include "plan/plan.hpp"

namespace pb::plan {

/// The memory that a rank of the point may take: memory_limit_mib, else its part of half of what its host has left, or
/// of 0.8 of its GPU's; 0: unknown.
[[nodiscard]] double most_mib_of(const Point& point, const Topology& topology);

/// Of a point with carried rows, on the padded image; one strip where it is not cut.
[[nodiscard]] std::vector<network::Strip> strips_of(const Point& point);

/// Arithmetic by that of one strip: what the context of strips costs.
[[nodiscard]] double strip_cost(const Point& point);

/// Settles strips and the Winograd tile of a point whose halo is settled, as `most_mib` of the point and its limit ask
/// for: of strips as few as fit, and none where no number of them does. A note says which. Points without carried rows
/// have no strips.
void settle_memory(Point& point);

/// Throws Refused where carried rows do not fit memory_limit_mib in any number of strips, with what they take at least.
void check_strips(const Point& point);

/// "3 strips of 1216 columns"; empty where the image is not cut.
[[nodiscard]] std::string strips_text(const Point& point);

}  // namespace pb::plan
