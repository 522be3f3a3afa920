// Derives from the settings of a point the options of engines and pipelines, and how its noise level is passed to the
// network.
#pragma once

#include "device/convert.hpp"
#include "plan/plan.hpp"
#include "run/pipeline/pipeline.hpp"

#include "patchbench/engine/denoiser.hpp"
#include "patchbench/engine/weights.hpp"

namespace pb::run {

/// A network that takes sigma receives it. For a network that was trained for a single sigma, the input is scaled to
/// that sigma.
[[nodiscard]] device::Conversion conversion_for(const plan::Point& point, const engine::Weights& weights);

/// Records in the point whether the noise level is used. Adds a sigma_note when it is not, and when the stated training
/// sigma differs from that of the weights. The note is also added to the notes, except for untrained weights.
void settle_sigma(plan::Point& point, const engine::Weights& weights);

[[nodiscard]] engine::EngineOptions engine_options(const plan::Point& point, const plan::RankPlace& place);

[[nodiscard]] PipelineOptions pipeline_options(const plan::Point& point, const plan::RankPlace& place,
                                               const device::Conversion& conversion);

/// Returns the call times of the simulated device of a rank.
[[nodiscard]] CallSeconds call_seconds(const config::TimedSettings& timed, int rank);

}  // namespace pb::run
