// A study file as `run` and `plan` take it.
#pragma once

#include "app/options.hpp"
#include "plan/plan.hpp"

namespace pb {

/// load_config, and then `timed.table` of simulated points from the results that `timed.results` names. Throws
/// UsageError.
[[nodiscard]] Config load_study(const StudyArguments& arguments);

/// As `run` on so many ranks of this machine would plan it, with the images and weights that are here.
[[nodiscard]] Plan plan_locally(const Config& config, int ranks);

}  // namespace pb
