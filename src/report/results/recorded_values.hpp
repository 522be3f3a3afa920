// Reads values of the pipeline from their JSON: the counterpart of json_values.hpp. Every function throws UsageError
// with the place in the JSON when the JSON differs from what json_values.hpp writes.
#pragma once

#include "record/json.hpp"
#include "report/results/results_file.hpp"

namespace pb::report {

[[nodiscard]] record::Environment environment_from(const record::JsonField& json);
[[nodiscard]] measure::Verdict verdict_from(const record::JsonField& line);
/// Sets everything except `session`, `line` and `json`.
[[nodiscard]] RecordedPoint point_from(const record::JsonField& line);

}  // namespace pb::report
