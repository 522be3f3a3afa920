// JSON of results. A figure that is NaN or infinite is null, as is one that is absent.
#pragma once

#include <nlohmann/json.hpp>

#include <cmath>
#include <optional>

namespace pb {

/// Keeps the order in which keys are added: a line reads from what was run to what came out.
using Json = nlohmann::ordered_json;

[[nodiscard]] inline Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
[[nodiscard]] inline Json number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

}  // namespace pb
