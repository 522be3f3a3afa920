// The JSON schema of what results.jsonl holds of a measurement, from the fields of the values themselves.
#pragma once

#include "record/json.hpp"

namespace pb {

/// Definitions of docs/results.schema.json by name: lines and the parts that other definitions refer to. They refer to
/// "setting", "texts" and "validity" there. A test compares both.
[[nodiscard]] Json results_schema();

}  // namespace pb
