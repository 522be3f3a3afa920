// The nodes of a study file as StudyText: which words stand where.
#pragma once

#include "config/yaml/yaml_text.hpp"

#include <optional>

namespace pb {

/// The study whose document is `root`, read by `yaml`. Throws UsageError with the place.
[[nodiscard]] StudyFile read_study(YamlText& yaml, const YAML::Node& root);

}  // namespace pb
