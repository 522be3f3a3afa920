// Control characters in names and texts from elsewhere: they would steer a terminal or break a line.
#pragma once

#include <string>
#include <string_view>

namespace pb {

/// True when `text` holds one of ASCII's control characters, of which '\n' is one.
[[nodiscard]] bool has_controls(std::string_view text);

/// Replaces control characters by `mark`. Those in `kept` stay.
[[nodiscard]] std::string without_controls(std::string text, char mark = '?', std::string_view kept = "");

}  // namespace pb
