// Formats numbers for people (four significant digits, no exponent between 0.001 and a million) and names of points.
#pragma once

#include <cstddef>
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

/// Writes the first `most` texts as indented lines, and a line that counts the others.
[[nodiscard]] std::string first_lines(const std::vector<std::string>& texts, size_t most);

}  // namespace pb::report
