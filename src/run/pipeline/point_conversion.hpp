// How the noise level of a point reaches its network.
#pragma once

#include "device/convert.hpp"
#include "plan/plan.hpp"

#include "patchbench/engine/weights.hpp"

namespace pb {

/// A network that takes sigma is told it; one that was trained for a single sigma sees its input scaled to that.
[[nodiscard]] Conversion conversion_for(const Point& point, const Weights& weights);

/// Records in the point whether the noise level is used, and a sigma_note where it is not or where the stated training
/// sigma differs from that of the weights. The note goes into the notes as well, except for untrained weights.
void settle_sigma(Point& point, const Weights& weights);

}  // namespace pb
