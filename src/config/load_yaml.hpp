// Reads study files and model cards (YAML). No other part of the program reads YAML.
#pragma once

#include "config/study_text.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace pb::config {

/// Reads a study; docs/studies.md describes the format. Top-level keys are the study's settings and the defaults of
/// all points; `groups:` is a list of maps that override point settings. A list (or a range, `{from: 64, to: 512, step:
/// 64}` or `{from: 1, to: 16, factor: 2}`) as the value of a point setting is an axis: a group expands to the product
/// of its axes, the last written key varying fastest (a group's own keys come after the defaults it leaves in place).
/// The lists in a map `zip:` are one axis; points that a map in `exclude:` matches are left out. `presets:` names maps
/// of settings, groups and exclusions that apply when the setting `preset` chooses them. Keys may be nested (`image:
/// {path: ..}`) or dotted (`image.path: ..`). `overrides` ("key=value") replace the key everywhere, in the groups as
/// well; a value that starts with `[` or `{` is YAML, any other is taken literally; of several overrides for one key
/// the last one counts. Relative paths in the file are relative to its folder, those in overrides to the current one. A
/// study without `name` takes the name of its file, without the extension. Throws UsageError "file:line:column: unknown
/// key 'pathc'; did you mean 'patch'?" and the like for wrong types, values out of range, duplicate keys, empty lists
/// and values, YAML syntax errors, a missing or empty file, one above 1 MiB, more than 100000 points; "--set key=value:
/// .." where an override is wrong. Anchors and aliases work, merge keys (`<<`) are refused.
[[nodiscard]] Config load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides);

/// The settings that a study of one point states, in its order, each with one value: for commands that take some of
/// them. Throws UsageError as load_config does, and for a study of several points.
[[nodiscard]] Assignments load_stated(const std::filesystem::path& file);

/// One entry of the list `weights:` in models/<network>.yaml. Its keys are the names of the members; `name` is
/// required.
struct ModelWeights {
    std::string name;
    std::string file;    // in the folder of the card; empty when it must be downloaded
    std::string url;     // of the official file; empty when there is none
    std::string sha256;  // empty when not known
    int64_t channels = 3;
    double sigma_train = -1;  // the level that it was trained for; < 0: a range of them
    double sigma_most = -1;   // the end of that range; < 0: not known
};

/// Weights listed in the model card models/<network>.yaml, in its order. Other top-level keys of a card, and `layout`,
/// `trained_on` and `note` in an entry, are notes for readers; null counts as absent. Throws UsageError with
/// file:line:column as above.
[[nodiscard]] std::vector<ModelWeights> load_model_card(const std::filesystem::path& file);

/// A card beside a network that the user brings.
struct CardFile {
    std::string sha256;  // of the network's file; empty: not said
    network::NetworkCard card;
};

/// Reads such a card: a map with the keys of network::values_of and `sha256`. Keys that are absent have their defaults.
/// Throws UsageError with file:line:column as above.
[[nodiscard]] CardFile load_network_card(const std::filesystem::path& file);

}  // namespace pb::config
