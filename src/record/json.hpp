// JSON of results. A figure that is absent, NaN or infinite is null.
#pragma once

#include <nlohmann/json.hpp>

#include <cmath>
#include <optional>

namespace pb::record {

/// Keeps the order in which keys are added, so that a line begins with the settings and ends with the results.
using Json = nlohmann::ordered_json;

[[nodiscard]] inline Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
[[nodiscard]] inline Json number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

template <class Values, class ToJson>
[[nodiscard]] Json array_of(const Values& values, ToJson to_json) {
    Json all = Json::array();
    for (const auto& value : values) all.push_back(to_json(value));
    return all;
}

}  // namespace pb::record
