// The axes of a study to its points.
#pragma once

#include "config/settings_access.hpp"
#include "config/study_text.hpp"

#include "patchbench/base/error.hpp"

namespace pb {

/// The product of the axes of each group, the last one varying fastest, without the points that an exclusion matches.
/// The keys and values are checked already. Throws UsageError for more than 100000 points, and for none.
[[nodiscard]] std::vector<PointSettings> expand_points(const StudyText& study);

/// set_by_key with the place in the error.
template <class Settings>
void set_at(Settings& settings, const std::string& key, const PlacedText& value) {
    try {
        set_by_key(settings, key, value.text);
    } catch (const UsageError& error) {
        throw UsageError(value.place.text() + ": " + error.what());
    }
}

}  // namespace pb
