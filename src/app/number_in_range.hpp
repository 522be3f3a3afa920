// A number of a command line within bounds. CLI11's own checks let NaN through and print bounds with 300 digits.
#pragma once

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <string>

namespace pb {

/// low <= number <= high; `unit` may be empty.
inline CLI::Validator number_in_range(double low, double high, const std::string& unit = {}) {
    const std::string bounds = fmt::format("{:g} to {:g}{}", low, high, unit.empty() ? "" : " " + unit);
    return {[=](const std::string& text) {
                double number = 0;
                const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
                const bool read = failure == std::errc() && end == text.data() + text.size();
                return read && number >= low && number <= high
                           ? std::string()
                           : "'" + text + "': a number from " + bounds + " is expected";
            },
            bounds};
}

}  // namespace pb
