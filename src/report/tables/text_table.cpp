#include "report/tables/text_table.hpp"

#include "base/text.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

namespace pb::report {

namespace {

using Cells = std::vector<std::string>;

constexpr size_t kGap = 2;          // blanks between columns
constexpr size_t kLeastProse = 24;  // characters to which a column of prose shrinks

/// Splits a heading into its first and second line; the first is empty if there is only one line.
std::pair<std::string, std::string> heading_lines(const std::string& heading) {
    const auto cut = heading.find('\n');
    if (cut == std::string::npos) return {"", heading};
    return {heading.substr(0, cut), heading.substr(cut + 1)};
}

}  // namespace

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

void TextTable::add_columns(std::initializer_list<const char*> headings, Align align) {
    for (const char* heading : headings) add_column(heading, align);
}

void TextTable::add_row(std::vector<std::string> cells) {
    require(cells.size() == columns_.size(), "a table row must have a cell for each column");
    rows_.push_back(std::move(cells));
}

std::vector<size_t> TextTable::widths_within(size_t width) const {
    std::vector<size_t> widths;
    size_t total = 0;
    for (size_t c = 0; c < columns_.size(); ++c) {
        const auto [first, second] = heading_lines(columns_[c].heading);
        widths.push_back(std::max(width_of(first), width_of(second)));
        for (const Cells& row : rows_) widths[c] = std::max(widths[c], width_of(row[c]));
        total += widths[c] + (c == 0 ? 0 : kGap);
    }
    for (size_t c = 0; c < columns_.size() && total > width; ++c) {
        if (columns_[c].align != Align::prose) continue;
        const size_t least = std::min(widths[c], kLeastProse);
        const size_t fitting = widths[c] - std::min(widths[c] - least, total - width);
        total -= widths[c] - fitting;
        widths[c] = fitting;
    }
    return widths;
}

std::string TextTable::line_text(const Cells& cells, const std::vector<size_t>& shown,
                                 const std::vector<size_t>& widths) const {
    std::string line;
    for (const size_t c : shown) {
        const std::string padding(widths[c] - std::min(widths[c], width_of(cells[c])), ' ');
        if (c != shown.front()) line += std::string(kGap, ' ');
        line += columns_[c].align == Align::right ? padding + cells[c] : cells[c] + padding;
    }
    return line.erase(line.find_last_not_of(' ') + 1) + "\n";
}

std::string TextTable::block_text(const std::vector<size_t>& shown, const std::vector<size_t>& widths) const {
    Cells upper(columns_.size()), lower(columns_.size()), rule(columns_.size());
    bool has_upper = false;
    for (const size_t c : shown) {
        std::tie(upper[c], lower[c]) = heading_lines(columns_[c].heading);
        rule[c] = std::string(widths[c], '-');
        has_upper = has_upper || !upper[c].empty();
    }
    std::string text = has_upper ? line_text(upper, shown, widths) : "";
    text += line_text(lower, shown, widths) + line_text(rule, shown, widths);
    for (const Cells& row : rows_) {
        std::vector<Cells> lines(1);
        std::ranges::transform(row, std::back_inserter(lines.front()),
                               [](const std::string& cell) { return without_controls(cell, ' '); });
        for (const size_t c : shown) {
            if (columns_[c].align != Align::prose) continue;
            const Cells parts = broken_lines(row[c], widths[c]);
            if (parts.size() > lines.size()) lines.resize(parts.size(), Cells(columns_.size()));
            for (size_t i = 0; i < lines.size(); ++i) lines[i][c] = i < parts.size() ? parts[i] : "";
        }
        for (const Cells& line : lines) text += line_text(line, shown, widths);
    }
    return text;
}

std::string TextTable::text(size_t width) const {
    if (columns_.empty()) return "";
    const std::vector<size_t> widths = widths_within(width);
    std::string all;
    size_t next = 1;
    do {
        std::vector<size_t> shown{0};
        size_t used = widths[0];
        while (next < columns_.size() && (shown.size() == 1 || width - used >= kGap + widths[next])) {
            used = std::min(width, used + kGap + widths[next]);
            shown.push_back(next++);
        }
        add_item(all, block_text(shown, widths), "\n");
    } while (next < columns_.size());
    return all;
}

size_t TextTable::width() const {
    const std::vector<size_t> widths = widths_within(kAnyWidth);
    return std::accumulate(widths.begin(), widths.end(), widths.empty() ? 0 : kGap * (widths.size() - 1));
}

std::string TextTable::markdown() const {
    const auto line_of = [](const auto& values, const auto& to_text) {
        std::string line = "|";
        for (const auto& value : values) line += std::string(" ").append(to_text(value)) + " |";
        return line + "\n";
    };
    std::string all = line_of(columns_, [](const Column& column) { return escaped_markdown(column.heading); });
    all += line_of(columns_, [](const Column& column) { return column.align == Align::right ? "--:" : "---"; });
    for (const auto& row : rows_) all += line_of(row, escaped_markdown);
    return all;
}

}  // namespace pb::report
