// A table of text: for the terminal with columns as wide as their widest cell, and as Markdown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pb {

/// `text` on one line, so that Markdown takes none of it for a cell's end, HTML or a link.
[[nodiscard]] std::string escaped_markdown(const std::string& text);

class TextTable {
  public:
    enum class Align : uint8_t { left, right };

    /// A column; `\n` in its heading starts a second line.
    void add_column(std::string heading, Align align = Align::right);
    /// One cell for each column.
    void add_row(std::vector<std::string> cells);

    /// Heading, a rule, the rows; every line ends with \n, none with a blank.
    [[nodiscard]] std::string text() const;
    /// A line of a heading becomes a word of it; cells are escaped_markdown().
    [[nodiscard]] std::string markdown() const;

  private:
    struct Column {
        std::string heading;
        Align align;
    };
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace pb
