// Prints text for people on a terminal or into a file. Lines that scripts read (RESULT, FOM, --json, --markdown) do not
// come this way: they stay whole.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace pb::app {

/// Prints `text`. Lines wider than the terminal are broken between words (report/text_lines.hpp).
void print_folded(std::FILE* stream, const std::string& text);

/// The same with values, as fmt::print takes them.
template <class... Values>
void print_text(std::FILE* stream, fmt::format_string<Values...> text, Values&&... values) {
    print_folded(stream, fmt::format(text, std::forward<Values>(values)...));
}

/// Prints on stderr what happens while a study runs, with the time of day.
void print_timed(const std::string& text);

}  // namespace pb::app
