// Study files (YAML) to a Config. The only place that knows YAML.
#pragma once

#include "patchbench/config/settings.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace pb {

/// Reads a study. Top-level keys are the study's settings and the defaults of all points; `groups:` is a list of maps
/// that override point settings. A list as the value of a point setting is an axis: a group expands to the product of
/// its axes, the last written key varying fastest. Keys may be nested (`image: {path: ..}`) or dotted (`image.path:
/// ..`). `overrides` ("key=value", value may be a YAML list) replace the key everywhere, in the groups as well. Throws
/// UsageError "file:line:column: unknown key 'pathc'; did you mean 'patch'?" and the like for wrong types, values,
/// duplicate keys, empty axes, YAML syntax errors, a missing or empty file.
[[nodiscard]] Config load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides);

/// One entry of models/<network>.yaml.
struct ModelWeights {
    std::string name;
    std::string file;    // beside the card; empty when it must be fetched
    std::string url;     // where the official file is; empty for none
    std::string sha256;  // empty when not known
    int64_t channels = 3;
    double sigma_train = -1;  // < 0: any sigma
};

/// Weights listed in the model card models/<network>.yaml, in its order.
[[nodiscard]] std::vector<ModelWeights> load_model_card(const std::filesystem::path& file);

}  // namespace pb
