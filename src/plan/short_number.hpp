// Numbers in the notes of a plan.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace pb {

/// Three significant digits.
[[nodiscard]] inline std::string short_number(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3g", value);
    return text.data();
}

}  // namespace pb
