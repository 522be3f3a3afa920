// Writes values of the pipeline as JSON. Absent values, NaN, infinity and empty texts that stand for "none" become
// null. Settings keep their own type, nested at the dots of their keys as in the YAML file.
#pragma once

#include "config/settings.hpp"
#include "measure/study/study_summary.hpp"
#include "measure/summary.hpp"
#include "measure/verdict.hpp"
#include "record/environment.hpp"
#include "record/json.hpp"
#include "record/point.hpp"

#include <string>

namespace pb::report {

// Writes settings as JSON values of their own type, nested at the dots of their keys, so that the result has the
// structure of the YAML file.

[[nodiscard]] record::Json setting_value(const std::string& value);
[[nodiscard]] record::Json setting_value(int64_t value);
[[nodiscard]] record::Json setting_value(uint64_t value);
[[nodiscard]] record::Json setting_value(double value);
[[nodiscard]] record::Json setting_value(bool value);
[[nodiscard]] record::Json setting_value(const config::HaloSetting& value);        // pixels, or a word
[[nodiscard]] record::Json setting_value(const config::NetworkSetting& value);     // its name or its file
[[nodiscard]] record::Json setting_value(const config::EngineSetting& value);      // its name, with the file of python
[[nodiscard]] record::Json setting_value(const config::CountSetting& value);       // a count or its word
[[nodiscard]] record::Json setting_value(const config::BatchSetting& value);       // a count, "auto" or "largest"
[[nodiscard]] record::Json setting_value(const config::NoiseLevelSetting& value);  // a level or "auto"
template <NamedEnum E>
[[nodiscard]] record::Json setting_value(E value) {
    return name_of(value);
}

[[nodiscard]] record::Json settings_json(const config::PointSettings& settings);
[[nodiscard]] record::Json settings_json(const config::StudySettings& settings);

// Writes values of the pipeline as JSON. Absent values, NaN, infinity and empty texts that stand for "none" become
// null.

[[nodiscard]] record::Json json_of(const record::Environment& environment);
/// Returns the line of a point.
[[nodiscard]] record::Json json_of(const record::PointTrace& trace, const measure::Summary& summary);
[[nodiscard]] record::Json json_of(const record::BatchSearch& search);
[[nodiscard]] record::Json json_of(const measure::Scaling& scaling);
/// Returns the line with the figures that follow from several points.
[[nodiscard]] record::Json json_of(const measure::StudySummary& study);
[[nodiscard]] record::Json json_of(const measure::Verdict& verdict);

// Writes the figures of a StudySummary that charts are drawn from, as JSON: series over the width, rooflines, groups of
// points, and the intervals and shares of each point.

/// Adds the figures to `line`, the JSON line of the study's summary.
void add_findings(const measure::StudySummary& study, record::Json& line);

}  // namespace pb::report
