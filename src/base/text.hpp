// Texts for people: lists, counts, places in the sources, without control characters, with the word that was meant,
// with numbers of ranks as "0-3, 7".
#pragma once

#include <charconv>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace pb {

/// Appends `item` to `list`, with `separator` before it unless it is the first.
void add_item(std::string& list, std::string_view item, std::string_view separator = ", ");

/// The pieces of `text` that `separator` ends; behind the last one it may be missing. They point into `text`.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, std::string_view separator);

/// "1 point", "3 points".
template <class Count>
[[nodiscard]] std::string counted(Count count, const std::string& noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Reads the whole of `text` as a number in the form of std::from_chars, nothing before or after it. False when it is
/// not one or does not fit; `value` is then as before, although a beginning like that of `nano.onnx` is a number.
template <class Number>
[[nodiscard]] bool read_number(std::string_view text, Number& value) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, number);
    if (failure != std::errc{} || rest != end) return false;
    value = number;
    return true;
}

/// "file.cpp:12 in void function()", for errors of a library's calls. A template, because the clang of the fuzzers has
/// no std::source_location.
[[nodiscard]] std::string place_text(const char* file, unsigned line, const char* function);
template <class SourceLocation>
[[nodiscard]] std::string place_text(const SourceLocation& place) {
    return place_text(place.file_name(), place.line(), place.function_name());
}

// Control characters in names and texts from elsewhere: they would steer a terminal or break a line.

/// True when `text` holds one of ASCII's control characters, of which '\n' is one.
[[nodiscard]] bool has_controls(std::string_view text);

/// Replaces control characters by `mark`. Those in `kept` stay.
[[nodiscard]] std::string without_controls(std::string text, char mark = '?', std::string_view kept = "");

// "Did you mean ...?": the known word nearest to a mistyped one.

/// Levenshtein distance in bytes.
[[nodiscard]] size_t edit_distance(std::string_view a, std::string_view b);

/// Of ASCII letters.
[[nodiscard]] std::string lower_case(std::string_view word);

/// The nearest of `known`, whatever the case, when it lies within a third of the word's length (at least 2 edits), else
/// an empty string.
[[nodiscard]] std::string nearest_word(std::string_view word, std::span<const std::string> known);

/// What to append to an error about a word: "; did you mean 'patch'?", or nothing where no word is near.
[[nodiscard]] std::string did_you_mean(const std::string& nearest);

// Numbers of ranks and processors for people: what follows one another is a run.

/// "0-3, 7"; `numbers` ascend.
[[nodiscard]] std::string runs_text(std::span<const int> numbers, std::string_view separator = ", ");

/// "rank 7", "ranks 0-3, 7".
[[nodiscard]] std::string ranks_text(std::span<const int> ranks);

struct RankOnHost {
    int rank = 0;
    std::string host;
};

/// "rank 2@n1", "ranks 0-3@n1, 4, 6@n2"; `ranks` ascend.
[[nodiscard]] std::string ranks_text(std::span<const RankOnHost> ranks);

}  // namespace pb
