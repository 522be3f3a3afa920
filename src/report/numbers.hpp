// Numbers as people read them: four significant digits, no exponent between 0.001 and a million.
#pragma once

#include <optional>
#include <string>

namespace pb {

/// "1234567", "1235", "12.35", "0.001235", "1.2e-05"; "-" where there is none.
[[nodiscard]] std::string readable(std::optional<double> value);

/// `digits` after the point; "-" where there is none.
[[nodiscard]] std::string fixed(std::optional<double> value, int digits);

/// Whole MiB; tenths below 10.
[[nodiscard]] std::string readable_mib(std::optional<double> mib);

}  // namespace pb
