// Writes a table of text: for the terminal, with columns as wide as their widest cell, and as Markdown.
#pragma once

#include "report/tables/text.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace pb::report {

/// Escapes `text` and puts it on one line, so that Markdown does not read it as the end of a cell, HTML or a link.
[[nodiscard]] std::string escaped_markdown(const std::string& text);

class TextTable {
  public:
    /// prose: on the left, with line breaks between words when the table is too wide.
    enum class Align : uint8_t { left, right, prose };

    /// Adds a column; `\n` in its heading starts a second line.
    void add_column(std::string heading, Align align = Align::right);
    void add_columns(std::initializer_list<const char*> headings, Align align = Align::right);
    /// Adds a row with one cell for each column.
    void add_row(std::vector<std::string> cells);

    /// Returns the heading, a rule and the rows. Every line ends with \n and has no trailing space. A table wider than
    /// `width` characters has its prose on several lines. Where that is not enough, columns that do not fit follow in a
    /// second table below, which begins with the first column again. A single wide cell may still exceed `width`.
    [[nodiscard]] std::string text(size_t width = kAnyWidth) const;
    /// The width of the table on one line a row.
    [[nodiscard]] size_t width() const;
    /// Returns the table as Markdown. The lines of a heading are joined by a space; cells are escaped_markdown().
    [[nodiscard]] std::string markdown() const;

  private:
    struct Column {
        std::string heading;
        Align align;
    };
    [[nodiscard]] std::vector<size_t> widths_within(size_t width) const;
    [[nodiscard]] std::string block_text(const std::vector<size_t>& shown, const std::vector<size_t>& widths) const;
    [[nodiscard]] std::string line_text(const std::vector<std::string>& cells, const std::vector<size_t>& shown,
                                        const std::vector<size_t>& widths) const;

    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace pb::report
