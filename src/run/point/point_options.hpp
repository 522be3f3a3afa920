// Derives the options of engines and pipelines from the settings of a point.
#pragma once

#include "plan/plan.hpp"
#include "run/pipeline/pipeline.hpp"
#include "run/pipeline/point_conversion.hpp"

#include "patchbench/engine/denoiser.hpp"

namespace pb::run {

[[nodiscard]] engine::EngineOptions engine_options(const plan::Point& point, const plan::RankPlace& place);

[[nodiscard]] PipelineOptions pipeline_options(const plan::Point& point, const plan::RankPlace& place,
                                               const device::Conversion& conversion);

/// Returns the call times of the simulated device of a rank.
[[nodiscard]] CallSeconds call_seconds(const config::TimedSettings& timed, int rank);

}  // namespace pb::run
