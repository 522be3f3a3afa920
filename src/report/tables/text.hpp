// Text for people: numbers (four significant digits, no exponent between 0.001 and a million), names of points, remarks
// on them, and lines of a width. Widths count characters of UTF-8.
#pragma once

#include "base/statistics.hpp"

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace pb::report {

/// Examples: "1234567", "1235", "12.35", "0.001235", "1.2e-05"; "-" for an absent value.
[[nodiscard]] std::string readable(std::optional<double> value);

/// "1.250 [1.200, 1.310]"; the value alone where there is no interval.
[[nodiscard]] std::string with_interval(std::optional<double> value, const std::optional<Interval>& interval);

/// Prints `digits` digits after the point; "-" for an absent value.
[[nodiscard]] std::string fixed(std::optional<double> value, int digits);

/// Prints whole MiB, and tenths below 10.
[[nodiscard]] std::string readable_mib(std::optional<double> mib);

/// Lists up to four names of points: "a, b". More of them are "36 points, e.g. a".
[[nodiscard]] std::string few_names(const std::vector<std::string>& names);

/// Remarks on points. Equal remarks appear once, with the labels of their points.
class Remarks {
  public:
    void add(const std::string& remark, const std::string& label);
    /// "a, b: <remark>" for each; "all points: <remark>" where it holds for all `num_points` and these are several.
    [[nodiscard]] std::vector<std::string> lines(size_t num_points) const;

  private:
    struct Remark {
        std::string text;
        std::vector<std::string> labels;
    };
    std::vector<Remark> remarks_;
};

/// Width of text that need not fit a terminal.
inline constexpr size_t kAnyWidth = std::numeric_limits<size_t>::max();

/// Counts the characters of UTF-8 text: the bytes that do not continue a character.
[[nodiscard]] size_t width_of(const std::string& text);

/// Returns the first `width` characters of UTF-8 text.
[[nodiscard]] std::string beginning_of(const std::string& text, size_t width);

/// Returns `text` where it fits, else its beginning and " ...", which together have at most `width` characters.
[[nodiscard]] std::string cut_to(const std::string& text, size_t width);

/// Breaks `text` between words into lines of at most `width` characters, one at least. A longer word has a line of its
/// own.
[[nodiscard]] std::vector<std::string> broken_lines(const std::string& text, size_t width);

/// Breaks those lines of `text` that are wider than `width` at their blanks, and changes nothing else. What follows is
/// indented: below the second column, where the line has one ("name:   text"), else by two more blanks than the line.
/// A word that is too long, as the name of a file, stays whole.
[[nodiscard]] std::string folded(const std::string& text, size_t width);

}  // namespace pb::report
