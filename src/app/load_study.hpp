// Loads a study for `run`, `bench` and `plan`.
#pragma once

#include "app/options.hpp"
#include "plan/plan.hpp"

namespace pb::app {

/// Calls load_config, then read_measured_calls. Throws UsageError.
[[nodiscard]] config::Config load_study(const StudyArguments& arguments);

/// Sets `timed.table` of simulated points from the results that `timed.results` names. Throws UsageError.
void read_measured_calls(config::Config& config);

/// Plans the study as `run` would with `ranks` ranks on this machine and its images and weights.
[[nodiscard]] plan::Plan plan_locally(config::Config config, int ranks, bool trusts_model);

}  // namespace pb::app
