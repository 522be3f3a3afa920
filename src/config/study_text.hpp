// A study as plain text, after YAML and before settings: keys, their values, and where each was written.
#pragma once

#include "patchbench/config/settings.hpp"

#include <memory>
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

/// One dotted key and what was written for it: one value, or an axis.
struct Assignment {
    std::string key;
    Place place;
    bool is_list = false;
    std::vector<PlacedText> values;
};
using Assignments = std::vector<Assignment>;

struct StudyText {
    Assignments top;  // settings of the study and defaults of the points
    std::vector<Assignments> groups;
};

/// Puts `overrides` in place of what is written for their keys, in the groups as well.
void apply_overrides(StudyText& study, const Assignments& overrides);

/// Checks every key and value and expands the axes. Throws UsageError with the place.
[[nodiscard]] Config expand_study(const StudyText& study);

}  // namespace pb
