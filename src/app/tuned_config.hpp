// The file that `tune` writes: settings that `run` takes as a study of one point and `denoise` with --config.
#pragma once

#include "config/settings.hpp"

#include <string>
#include <vector>

namespace pb::app {

/// YAML with the settings that decide what a point does, after `remarks`, one comment line each. Texts are quoted, so
/// that any path can be read back.
[[nodiscard]] std::string tuned_config(const config::PointSettings& settings, const std::vector<std::string>& remarks);

}  // namespace pb::app
