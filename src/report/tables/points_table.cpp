#include "base/mapped.hpp"
#include "base/text.hpp"
#include "report/metrics.hpp"
#include "report/tables/tables.hpp"
#include "report/tables/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <filesystem>
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
    const auto least = std::ranges::min_element(columns, {}, order);
    return least->need > 0 ? least : columns.end();
}

/// What a table of one line a point has room for.
struct FittedTable {
    std::string equal;                  // columns that say the same of all points: "seam error: 0 | status: ok"
    TextTable table;                    // the others
    std::vector<std::string> left_out;  // headings of columns for which there is no room
};

/// Returns all columns where they fit `width`. Else cells are brief and what is equal for all points is stated once,
/// and, where it `may_leave_out` columns, the least needed ones are left out until the rest fits.
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

using Summaries = std::vector<measure::Summary>;
using Recommendations = std::vector<measure::Recommendation>;

std::string star_of(const measure::Summary& summary, const Recommendations& recommendations) {
    const bool is_taken =
        std::ranges::any_of(recommendations, [&](const auto& each) { return each.point == summary.index; });
    return is_taken ? std::string(" ") + kStar : "";
}

std::string status_text(const measure::Summary& summary) {
    if (summary.status != record::PointStatus::ok) return std::string(name_of(summary.status));
    if (summary.simulated && summary.validity == measure::Validity::valid) return "simulated";
    return summary.validity == measure::Validity::valid ? "ok" : std::string(name_of(summary.validity));
}

bool any_has(const Summaries& summaries, const Metric& metric) {
    return std::ranges::any_of(summaries, [&](const measure::Summary& s) { return metric.value(s).has_value(); });
}

std::string cell_of(const Metric& metric, const measure::Summary& summary) {
    const auto value = metric.value(summary);
    if (!value) return "-";
    return metric.cell != nullptr ? metric.cell(summary) : readable(value);
}

/// Returns the `i`-th entry of a point's context. Some points of a file may have fewer entries.
std::string context_text(const measure::Summary& summary, size_t i) {
    return i < summary.context.size() ? summary.context[i].second : "";
}

bool is_begun(const measure::Summary& summary) { return !record::is_cut_short(summary.status); }

/// What the context of the others is compared with.
const measure::Summary& first_begun(const Summaries& summaries) {
    const auto first = std::ranges::find_if(summaries, is_begun);
    return first == summaries.end() ? summaries.front() : *first;
}

/// True when the `i`-th entry of the context is the same for all points. Of weights those of points count that were
/// begun, if there are any: others name what they were told, as "default".
bool is_shared(const Summaries& summaries, size_t i) {
    const measure::Summary& first = first_begun(summaries);
    const bool counts_begun = is_begun(first) && first.context[i].first == "weights";
    return std::ranges::all_of(summaries, [&](const measure::Summary& summary) {
        return context_text(summary, i) == context_text(first, i) || (counts_begun && !is_begun(summary));
    });
}

std::string shared_context(const Summaries& summaries) {
    std::vector<std::string> entries;
    for (size_t i = 0; i < first_begun(summaries).context.size(); ++i) {
        const auto& [name, text] = first_begun(summaries).context[i];
        if (is_shared(summaries, i)) entries.push_back(fmt::format("{}: {}", name, text));
    }
    return fmt::format("{}", fmt::join(entries, " | "));
}

std::vector<std::string> remarks_of(const Summaries& summaries, const std::vector<std::string>& labels) {
    Remarks remarks;
    for (size_t i = 0; i < summaries.size(); ++i) {
        for (const auto& reason : summaries[i].reasons) remarks.add(reason, labels[i]);
        for (const auto& note : summaries[i].notes) remarks.add(note, labels[i]);
    }
    return remarks.lines(summaries.size());
}

/// Returns the points that `limit` limits, the evidence for the clearest case, and what to try. Nothing when there are
/// none.
std::optional<PointsTable::Limited> limited_by(measure::Limit limit, const Summaries& summaries,
                                               const std::vector<std::string>& labels) {
    std::vector<std::string> points;
    std::string clearest;
    const measure::Bottleneck* found = nullptr;
    for (size_t i = 0; i < summaries.size(); ++i) {
        const auto& bottleneck = summaries[i].bottleneck;
        if (!bottleneck || bottleneck->limit != limit) continue;
        points.push_back(labels[i]);
        if (found != nullptr && found->share >= bottleneck->share) continue;
        found = &*bottleneck;
        clearest = labels[i];
    }
    if (found == nullptr) return std::nullopt;
    return PointsTable::Limited{fmt::format("{}: {}", name_of(limit), few_names(points)),
                                fmt::format("{}: {}", name_of(limit), counted(points.size(), "point")),
                                points.size() > 1 ? clearest + ": " + found->evidence : found->evidence,
                                "try: " + found->advice};
}

std::vector<PointsTable::Limited> limits_of(const Summaries& summaries, const std::vector<std::string>& labels) {
    std::vector<PointsTable::Limited> all;
    for (const auto& meaning : measure::limit_meanings())
        if (auto limited = limited_by(meaning.limit, summaries, labels)) all.push_back(std::move(*limited));
    return all;
}

std::string limits_text(const std::vector<PointsTable::Limited>& limits, const TextSize& size) {
    std::string text = limits.empty() ? "" : "\nWhat limits them\n";
    for (const auto& [points, counted, evidence, advice] : limits)
        text += finding_line(size.is_short() ? fmt::format("{}; {}", counted, advice)
                                             : fmt::format("{} ({}); {}", points, evidence, advice),
                             size);
    return text;
}

/// One column for each headline that a point has, in the order of the metrics.
void add_figures(const Summaries& summaries, std::vector<PointsColumn>& columns) {
    for (const auto& metric : metrics()) {
        if (!metric.is_headline() || !any_has(summaries, metric)) continue;
        PointsColumn column{.heading = metric.heading, .align = TextTable::Align::right, .need = metric.need};
        for (const auto& summary : summaries) {
            column.cells.push_back(cell_of(metric, summary));
            if (metric.brief != nullptr) column.brief.push_back(metric.value(summary) ? metric.brief(summary) : "-");
        }
        columns.push_back(std::move(column));
    }
}

/// A column of the context. Weights mostly differ as the networks do, which the labels name.
PointsColumn context_column(const Summaries& summaries, size_t entry) {
    PointsColumn column{.heading = first_begun(summaries).context[entry].first, .align = TextTable::Align::left};
    for (const auto& summary : summaries) column.cells.push_back(context_text(summary, entry));
    if (column.heading != "weights") return column;
    column.need = 1;
    for (const std::string& file : column.cells)
        column.brief.push_back(std::filesystem::path(file).filename().string());
    return column;
}

/// The star stands beside the status, or in a narrow table beside the label: then the status is often equal.
std::vector<PointsColumn> columns_of(const Summaries& summaries, const std::vector<std::string>& labels,
                                     const Recommendations& recommendations) {
    using enum TextTable::Align;
    PointsColumn names{.heading = "point", .align = left, .cells = labels};
    PointsColumn statuses{.heading = "status", .align = left};
    for (size_t i = 0; i < summaries.size(); ++i) {
        const std::string star = star_of(summaries[i], recommendations), status = status_text(summaries[i]);
        names.brief.push_back(labels[i] + star);
        statuses.cells.push_back(status + star);
        statuses.brief.push_back(status);
    }
    std::vector<PointsColumn> columns{std::move(names)};
    for (size_t entry = 0; entry < first_begun(summaries).context.size(); ++entry) {
        if (is_shared(summaries, entry)) continue;
        columns.push_back(context_column(summaries, entry));
    }
    add_figures(summaries, columns);
    columns.push_back(std::move(statuses));
    return columns;
}

}  // namespace

TextTable table_of(const std::vector<PointsColumn>& columns) {
    TextTable table;
    for (const auto& column : columns) table.add_column(column.heading, column.align);
    for (size_t row = 0; row < columns.front().cells.size(); ++row)
        table.add_row(mapped(columns, [&](const PointsColumn& column) { return column.cells[row]; }));
    return table;
}

PointsTable make_points_table(const Summaries& summaries, const Recommendations& recommendations) {
    require(!summaries.empty(), "a table of points needs a point");
    const auto labels = unique_labels(summaries);
    return {shared_context(summaries), columns_of(summaries, labels, recommendations), remarks_of(summaries, labels),
            limits_of(summaries, labels)};
}

std::string points_table(const Summaries& summaries, const Recommendations& recommendations, const TextSize& size) {
    if (summaries.empty()) return "no points\n";
    const auto [shared, columns, remarks, limits] = make_points_table(summaries, recommendations);
    const auto [equal, table, left_out] = fitted_table(columns, size.width, size.is_short());
    std::string text = shared + (shared.empty() || equal.empty() ? "" : " | ") + equal;
    text += (text.empty() ? "" : "\n\n") + table.text(size.width);
    if (!left_out.empty())
        text += fmt::format("  no room for {}; --verbose prints all columns\n", fmt::join(left_out, ", "));
    if (!remarks.empty()) text += "\n" + first_lines(remarks, size);
    return text + limits_text(limits, size);
}

}  // namespace pb::report
