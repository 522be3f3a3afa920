#include "report/points_columns.hpp"

#include <algorithm>
#include <climits>
#include <functional>
#include <utility>

namespace pb::report {

namespace {

/// The lines of a heading as one: "peak MiB (rank)", "forward/pipeline".
std::string one_line(const std::string& heading) {
    const auto cut = heading.find('\n');
    if (cut == std::string::npos) return heading;
    return heading.substr(0, cut) + (heading[cut - 1] == '/' ? "" : " ") + heading.substr(cut + 1);
}

bool is_equal(const PointsColumn& column) {
    return column.cells.size() > 1 &&
           std::adjacent_find(column.cells.begin(), column.cells.end(), std::not_equal_to<>()) == column.cells.end();
}

/// Takes out the columns that say the same of all points, and returns what they say. The first one names the points.
std::string take_equal(std::vector<PointsColumn>& columns) {
    std::string text;
    for (auto column = columns.begin() + 1; column != columns.end();) {
        if (!is_equal(*column)) {
            ++column;
            continue;
        }
        text += (text.empty() ? "" : " | ") + one_line(column->heading) + ": " + column->cells.front();
        column = columns.erase(column);
    }
    return text;
}

/// The column to leave out next; the end when all others are kept.
auto least_needed(std::vector<PointsColumn>& columns) {
    const auto order = [](const PointsColumn& column) { return column.need > 0 ? column.need : INT_MAX; };
    const auto least =
        std::ranges::min_element(columns, [&](const auto& a, const auto& b) { return order(a) < order(b); });
    return least->need > 0 ? least : columns.end();
}

}  // namespace

TextTable table_of(const std::vector<PointsColumn>& columns) {
    TextTable table;
    for (const auto& column : columns) table.add_column(column.heading, column.align);
    for (size_t row = 0; row < columns.front().cells.size(); ++row) {
        std::vector<std::string> cells;
        cells.reserve(columns.size());
        for (const auto& column : columns) cells.push_back(column.cells[row]);
        table.add_row(std::move(cells));
    }
    return table;
}

FittedTable fitted_table(std::vector<PointsColumn> columns, size_t width, bool may_leave_out) {
    FittedTable fitted{.table = table_of(columns)};
    if (fitted.table.width() <= width) return fitted;
    for (auto& column : columns)
        if (!column.brief.empty()) column.cells = column.brief;
    fitted.equal = take_equal(columns);
    fitted.table = table_of(columns);
    while (may_leave_out && fitted.table.width() > width) {
        const auto least = least_needed(columns);
        if (least == columns.end()) break;
        fitted.left_out.push_back(one_line(least->heading));
        columns.erase(least);
        fitted.table = table_of(columns);
    }
    return fitted;
}

}  // namespace pb::report
