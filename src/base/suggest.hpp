// "Did you mean ...?": the known word nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pb {

/// Levenshtein distance in bytes.
[[nodiscard]] size_t edit_distance(std::string_view a, std::string_view b);

/// Of ASCII letters.
[[nodiscard]] std::string lower_case(std::string_view word);

/// The nearest of `known`, whatever the case, when it lies within a third of the word's length (at least 2 edits), else
/// an empty string.
[[nodiscard]] std::string nearest_word(std::string_view word, std::span<const std::string> known);

}  // namespace pb
