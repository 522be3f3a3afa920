// How the noise level of a point reaches its network.
#pragma once

#include "patchbench/device/convert.hpp"
#include "patchbench/engine/weights.hpp"
#include "patchbench/plan/plan.hpp"

namespace pb {

/// A network that takes sigma is told it; one that was trained for a single sigma sees its input scaled to that.
[[nodiscard]] Conversion conversion_for(const Point& point, const Weights& weights);

/// Says in the point where the noise level changes nothing, and where the weights were trained for another one than is
/// stated; in its notes, too, unless the weights are untrained: nobody expects a noise level of them.
void settle_sigma(Point& point, const Weights& weights);

}  // namespace pb
