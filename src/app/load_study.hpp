// A study file as `run` and `plan` take it.
#pragma once

#include "plan/plan.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pb {

/// `--set KEY=VALUE`, of any number.
void add_overrides(CLI::App& command, std::vector<std::string>& overrides);

/// load_config, and then `timed.table` of simulated points from the results that `timed.results` names. Throws
/// UsageError.
[[nodiscard]] Config load_study(const std::string& file, const std::vector<std::string>& overrides);

/// As `run` on so many ranks of this machine would plan it, with the images and weights that are here.
[[nodiscard]] Plan plan_locally(const Config& config, int ranks);

}  // namespace pb
