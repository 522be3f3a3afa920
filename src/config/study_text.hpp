// A study as plain text, after YAML and before settings: keys, their values, and where each was written.
#pragma once

#include "config/settings.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pb {

/// Where a text was written. `line` and `column` count from 1; line 0: `origin` alone says it ("--set patch=0").
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

/// One dotted key and what was written for it: one value, or an axis. Assignments with the same `zip` (not 0) advance
/// together and have as many values.
struct Assignment {
    std::string key;
    Place place;
    bool is_list = false;
    std::vector<PlacedText> values;
    int zip = 0;
};
using Assignments = std::vector<Assignment>;

/// Points that have, for every key, one of its values are left out.
struct Exclusion {
    Place place;
    Assignments keys;
};

/// A map of settings with the exclusions written beside them; none: not written.
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
    Place place;
    StudyText study;
};

struct StudyFile {
    StudyText study;
    std::vector<PresetText> presets;
    std::string name;  // of a study that has no `name`; empty: the setting's default
};

/// The paths in it (`image.path`, `weights`, `timed.results`) that are relative are so to `folder`.
void set_paths_beside(const std::filesystem::path& folder, StudyFile& file);

/// The study that the file and `overrides` mean: the chosen preset's settings in place of those that are written for
/// their keys (in the groups as well), its groups and exclusions instead of the study's where it has any, and then the
/// overrides in the same way. Checks every key and value, those of other presets too, and expands the axes. Throws
/// UsageError with the place.
[[nodiscard]] Config expand_study(const StudyFile& file, const Assignments& overrides);

}  // namespace pb
