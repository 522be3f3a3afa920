// Text in lines of a width.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pb::report {

/// Breaks `text` between words into lines of at most `width` characters, one at least. A longer word has a line of its
/// own.
[[nodiscard]] std::vector<std::string> broken_lines(const std::string& text, size_t width);

}  // namespace pb::report
