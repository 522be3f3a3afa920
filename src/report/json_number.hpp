// A figure as JSON: absent, NaN and infinity become null.
#pragma once

#include "report/json_settings.hpp"

#include <cmath>
#include <optional>

namespace pb {

[[nodiscard]] inline Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
[[nodiscard]] inline Json number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

}  // namespace pb
