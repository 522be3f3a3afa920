// Makes the JSON schema of the measurements in results.jsonl from the fields of the values.
#pragma once

#include "record/json.hpp"

namespace pb::report {

/// Returns definitions of docs/results.schema.json by name: lines and the parts that other definitions refer to. They
/// refer to "setting", "texts" and "validity" in that file. A test compares both.
[[nodiscard]] record::Json results_schema();

}  // namespace pb::report
