// Writes a comparison as text, for the terminal and as Markdown.
#include "base/text.hpp"
#include "report/results_comparison.hpp"
#include "report/tables/text.hpp"
#include "report/tables/text_table.hpp"

#include <fmt/format.h>

namespace pb::report {

namespace {

constexpr const char* kHeadings[] = {"point", "old s", "new s", "change of time [95 %]", "outcome"};
using ComparedCells = std::array<std::string, std::size(kHeadings)>;

std::string percent(double ratio) { return fmt::format("{:+.1f} %", 100 * (ratio - 1)); }

ComparedCells cells_of(const PointComparison& point) {
    ComparedCells cells{point.label, readable(point.old_s), readable(point.new_s), "-", point.missing};
    if (!point.comparison) return cells;
    const measure::Comparison& comparison = *point.comparison;
    cells[3] = percent(comparison.ratio);
    if (comparison.ratio_interval)
        cells[3] +=
            fmt::format(" [{}, {}]", percent(comparison.ratio_interval->low), percent(comparison.ratio_interval->high));
    cells[4] = name_of(comparison.change);
    return cells;
}

/// A one-line count for people and scripts: "3 points: 2 SAME, 1 SLOWER".
std::string count_line(const ResultsComparison& comparison) {
    std::vector<std::string> parts;
    int64_t compared = 0;
    for (const auto& [change, name] : enum_table<measure::Change>()) {
        const int64_t count = comparison.count(change);
        compared += count;
        if (count > 0) parts.push_back(fmt::format("{} {}", count, name));
    }
    const int64_t others = std::ssize(comparison.points) - compared;
    if (others > 0) parts.push_back(fmt::format("{} not compared", others));
    return fmt::format("COMPARED: {}: {}", counted(std::ssize(comparison.points), "point"),
                       parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", ")));
}

/// The reasons for the outcomes of the points, equal reasons once; then the remarks on points and files.
std::vector<std::string> remark_lines(const ResultsComparison& comparison) {
    Remarks remarks;
    for (const auto& point : comparison.points) {
        if (point.comparison && !point.comparison->reason.empty()) remarks.add(point.comparison->reason, point.label);
        for (const auto& remark : point.remarks) remarks.add(remark, point.label);
    }
    std::vector<std::string> lines = remarks.lines(comparison.points.size());
    lines.insert(lines.end(), comparison.remarks.begin(), comparison.remarks.end());
    return lines;
}

std::string launches_line(const ResultsComparison& comparison) {
    const auto launches = [](size_t count) { return fmt::format("{} launch{}", count, count == 1 ? "" : "es"); };
    const bool several = comparison.num_old > 1 || comparison.num_new > 1;
    return fmt::format("OLD: {}, NEW: {}.{}", launches(comparison.num_old), launches(comparison.num_new),
                       several ? ""
                               : " What is said holds for these launches; measure several of each version (patchbench "
                                 "run --launches 3) to learn how launches differ.");
}

std::string section(const std::string& title, const std::vector<std::string>& lines) {
    if (lines.empty()) return "";
    return fmt::format("\n{}\n  {}\n", title, fmt::join(lines, "\n  "));
}

std::string markdown_section(const std::string& title, const std::vector<std::string>& lines) {
    if (lines.empty()) return "";
    std::string text = "\n" + title + "\n\n";
    for (const auto& line : lines) text += "- " + escaped_markdown(line) + "\n";
    return text;
}

constexpr const char* kEnvironmentTitle = "Warning: the environments differ:";

TextTable table_of(const ResultsComparison& comparison) {
    using enum TextTable::Align;
    TextTable table;
    for (size_t i = 0; i < std::size(kHeadings); ++i) table.add_column(kHeadings[i], i == 0 || i == 4 ? left : right);
    for (const auto& point : comparison.points) {
        const ComparedCells cells = cells_of(point);
        table.add_row({cells.begin(), cells.end()});
    }
    return table;
}

}  // namespace

std::string comparison_table(const ResultsComparison& comparison, size_t width) {
    return launches_line(comparison) + "\n\n" + table_of(comparison).text(width) +
           section("Remarks:", remark_lines(comparison)) + section(kEnvironmentTitle, comparison.environment_changes) +
           "\n" + count_line(comparison) + "\n";
}

std::string comparison_markdown(const ResultsComparison& comparison) {
    return launches_line(comparison) + "\n\n" + table_of(comparison).markdown() +
           markdown_section("Remarks:", remark_lines(comparison)) +
           markdown_section(kEnvironmentTitle, comparison.environment_changes) + "\n" + count_line(comparison) + "\n";
}

}  // namespace pb::report
