// Formats numbers for people (four significant digits, no exponent between 0.001 and a million) and names of points.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pb::report {

/// Examples: "1234567", "1235", "12.35", "0.001235", "1.2e-05"; "-" for an absent value.
[[nodiscard]] std::string readable(std::optional<double> value);

/// Prints `digits` digits after the point; "-" for an absent value.
[[nodiscard]] std::string fixed(std::optional<double> value, int digits);

/// Prints whole MiB, and tenths below 10.
[[nodiscard]] std::string readable_mib(std::optional<double> mib);

/// Lists up to four names of points: "a, b". More of them are "36 points, e.g. a".
[[nodiscard]] std::string few_names(const std::vector<std::string>& names);

}  // namespace pb::report
