// A study file as `run` and `plan` take it.
#pragma once

#include "patchbench/config/settings.hpp"

#include <string>
#include <vector>

namespace pb {

/// load_config, and then `timed.table` of simulated points from the results that `timed.results` names. Throws
/// UsageError.
[[nodiscard]] Config load_study(const std::string& file, const std::vector<std::string>& overrides);

}  // namespace pb
