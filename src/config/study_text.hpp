// A study as plain text, between YAML and settings: keys, their values, and the place where each was written.
#pragma once

#include "config/settings_access.hpp"

#include "patchbench/base/error.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pb::config {

/// Where a text was written. `line` and `column` count from 1; line 0: `origin` is the whole place ("--set patch=0").
struct Place {
    std::shared_ptr<const std::string> origin;
    int line = 0;
    int column = 0;
    [[nodiscard]] std::string text() const;  // "study.yaml:3:8"
};

struct PlacedText {
    std::string text;
    Place place;
};

/// One dotted key and its values: a single value, or an axis. Assignments with the same `zip` (not 0) advance together
/// and have the same number of values.
struct Assignment {
    std::string key;
    Place place;
    bool is_list = false;
    std::vector<PlacedText> values;
    int zip = 0;
};
using Assignments = std::vector<Assignment>;

/// Leaves out the points that have one of the values for every key.
struct Exclusion {
    Place place;
    Assignments keys;
};

/// A map of settings and its exclusions; nullopt when it has no key `exclude`.
struct GroupText {
    Assignments settings;
    std::optional<std::vector<Exclusion>> exclusions;
};

struct StudyText {
    GroupText top;  // settings of the study and defaults of the points
    std::vector<GroupText> groups;
};

struct PresetText {
    std::string name;
    StudyText study;
};

struct StudyFile {
    StudyText study;
    std::vector<PresetText> presets;
    std::string name;  // used when the study has no `name`; empty: the setting's default
};

/// Makes relative paths (`image.path`, `weights`, `timed.results`, an engine's) relative to `folder`.
void resolve_paths(const std::filesystem::path& folder, Assignment& assignment);

/// Applies the chosen preset and then `overrides`, checks every key and value (those of other presets, too), and
/// expands the axes. A preset replaces the settings of its keys (in the groups as well), and the groups and exclusions
/// of the study when it has its own. Throws UsageError with the place.
[[nodiscard]] Config expand_study(const StudyFile& file, const Assignments& overrides);

/// The last step of expand_study: the product of the axes of each group, the last one varying fastest, without the
/// points that an exclusion matches. Fills `points` and `unmatched_exclusions`. Keys and values must have been checked.
/// Throws UsageError for more than 100000 points, and for none.
void expand_points(const StudyText& study, Config& config);

/// set_by_key with the place of the value in the error.
template <class Settings>
void set_at(Settings& settings, const std::string& key, const PlacedText& value) {
    try {
        set_by_key(settings, key, value.text);
    } catch (const UsageError& error) {
        throw UsageError(value.place.text() + ": " + error.what());
    }
}

}  // namespace pb::config
