#include "report/text_table.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pb::report {

namespace {

using Cells = std::vector<std::string>;

/// Splits a heading into its first and second line; the first is empty if there is only one line.
std::pair<std::string, std::string> heading_lines(const std::string& heading) {
    const auto cut = heading.find('\n');
    if (cut == std::string::npos) return {"", heading};
    return {heading.substr(0, cut), heading.substr(cut + 1)};
}

std::string on_one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

}  // namespace

size_t width_of(const std::string& text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string escaped_markdown(const std::string& text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '<')
            escaped += "&lt;";
        else if (c == '|' || (c == '(' && escaped.ends_with(']')))
            escaped += {'\\', c};
        else if (c != '\n')
            escaped += c;
        else if (!escaped.ends_with('/'))
            escaped += ' ';
    }
    return escaped;
}

void TextTable::add_column(std::string heading, Align align) { columns_.push_back({std::move(heading), align}); }

void TextTable::add_row(std::vector<std::string> cells) {
    require(cells.size() == columns_.size(), "a table row must have a cell for each column");
    rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
    Cells upper, lower;
    for (const auto& column : columns_) {
        const auto [first, second] = heading_lines(column.heading);
        upper.push_back(first);
        lower.push_back(second);
    }
    std::vector<Cells> lines{lower, Cells(columns_.size())};
    if (std::any_of(upper.begin(), upper.end(), [](const std::string& s) { return !s.empty(); }))
        lines.insert(lines.begin(), upper);
    const size_t rule = lines.size() - 1;
    for (const auto& row : rows_) {
        lines.emplace_back();
        std::transform(row.begin(), row.end(), std::back_inserter(lines.back()), on_one_line);
    }

    for (size_t c = 0; c < columns_.size(); ++c) {
        size_t width = 0;
        for (const auto& line : lines) width = std::max(width, width_of(line[c]));
        lines[rule][c] = std::string(width, '-');
        for (auto& line : lines) {
            const std::string padding(width - width_of(line[c]), ' ');
            line[c] = columns_[c].align == Align::left ? line[c] + padding : padding + line[c];
        }
    }
    std::string all;
    for (const auto& line : lines) {
        std::string joined;
        for (const auto& cell : line) joined += (&cell == line.data() ? "" : "  ") + cell;
        all += joined.erase(joined.find_last_not_of(' ') + 1) + "\n";
    }
    return all;
}

std::string TextTable::markdown() const {
    const auto line_of = [](const auto& values, const auto& to_text) {
        std::string line = "|";
        for (const auto& value : values) line += std::string(" ").append(to_text(value)) + " |";
        return line + "\n";
    };
    std::string all = line_of(columns_, [](const Column& column) { return escaped_markdown(column.heading); });
    all += line_of(columns_, [](const Column& column) { return column.align == Align::left ? "---" : "--:"; });
    for (const auto& row : rows_) all += line_of(row, escaped_markdown);
    return all;
}

}  // namespace pb::report
