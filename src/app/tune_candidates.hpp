// The candidates of `tune`: engines and precisions that this machine has, with patches, halos and batches.
#pragma once

#include "measure/tuning.hpp"
#include "plan/plan.hpp"

#include <functional>

namespace pb::app {

/// Plans a point on the whole image. Throws UsageError where it is impossible.
using PlanWhole = std::function<plan::Point(const config::PointSettings&)>;

/// `base`: the planned point of the settings that all candidates share; its halo is the one that was found for `halo:
/// auto`, tried beside the exact one.
[[nodiscard]] measure::TuningTrials make_candidates(const plan::Point& base, const PlanWhole& plan_whole);

}  // namespace pb::app
