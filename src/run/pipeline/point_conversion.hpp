// How the noise level of a point is passed to its network.
#pragma once

#include "device/convert.hpp"
#include "plan/plan.hpp"

#include "patchbench/engine/weights.hpp"

namespace pb::run {

/// A network that takes sigma receives it. For a network that was trained for a single sigma, the input is scaled to
/// that sigma.
[[nodiscard]] device::Conversion conversion_for(const plan::Point& point, const engine::Weights& weights);

/// Records in the point whether the noise level is used. Adds a sigma_note when it is not, and when the stated training
/// sigma differs from that of the weights. The note is also added to the notes, except for untrained weights.
void settle_sigma(plan::Point& point, const engine::Weights& weights);

}  // namespace pb::run
