// Writes values of the pipeline as JSON. Absent values, NaN, infinity and empty texts that stand for "none" become
// null. Settings keep their own type, nested at the dots of their keys as in the YAML file.
#pragma once

#include "config/settings.hpp"
#include "measure/study/study_summary.hpp"
#include "measure/summary.hpp"
#include "measure/verdict.hpp"
#include "record/json.hpp"
#include "record/point.hpp"
#include "report/results/results_file.hpp"

#include <string>
#include <string_view>

namespace pb::report {

[[nodiscard]] record::Json settings_json(const config::PointSettings& settings);
[[nodiscard]] record::Json settings_json(const config::StudySettings& settings);
/// Returns the setting of a dotted key, "metrics.reduction", in such settings; null: there is none.
[[nodiscard]] record::Json setting_in(const record::Json& settings, std::string_view key);

/// Returns the line of a point.
[[nodiscard]] record::Json json_of(const record::PointTrace& trace, const measure::Summary& summary);
/// Returns the line with the figures that follow from several points.
[[nodiscard]] record::Json json_of(const measure::StudySummary& study);
[[nodiscard]] record::Json json_of(const measure::Verdict& verdict);

/// Returns one line. Bytes that are not UTF-8 become U+FFFD, because a file name may hold any bytes.
[[nodiscard]] std::string line_of(const record::Json& value);
/// A text as it is read back from that line.
[[nodiscard]] std::string recorded_text(const std::string& text);
/// A value indented, as files of JSON have it.
[[nodiscard]] std::string json_text(const record::Json& value);

// The way back (recorded_values.cpp). Each function throws UsageError with the place in the JSON when that differs from
// what the functions above write.

[[nodiscard]] record::Environment environment_from(const record::JsonField& json);
[[nodiscard]] measure::Verdict verdict_from(const record::JsonField& line);
/// Sets everything except `session`, `line` and `json`.
[[nodiscard]] RecordedPoint point_from(const record::JsonField& line);

}  // namespace pb::report
