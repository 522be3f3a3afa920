#include "report/frameworks_table.hpp"

#include "measure/variants.hpp"
#include "report/csv_table.hpp"
#include "report/named_points.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace pb::report {

namespace {

/// Latency in seconds, CPU in percent, memory in MiB.
using Figures = std::array<std::optional<double>, 3>;
constexpr std::array kFrameworkHeadings{"Latency (seconds)", "CPU Usage (%)", "Memory Usage (MB)"};
constexpr std::array kRelativeHeadings{"Relative Latency", "Relative CPU Usage", "Relative Memory Usage"};

Figures figures_of(const NamedPoint& point) {
    const measure::Summary& summary = point.summary();
    return {summary.call_mean_s, summary.cpu_percent, summary.engine_peak_mib};
}

/// The rows whose figures are set against each other.
std::string group_of(const NamedPoint& point) {
    const auto& settings = point.trace().point.settings;
    return point.source + "\n" + settings.network.name() + "\n" + std::string(name_of(settings.dtype));
}

void lower_to(Figures& least, const Figures& figures) {
    for (size_t i = 0; i < least.size(); ++i)
        if (figures[i] && (!least[i] || *figures[i] < *least[i])) least[i] = figures[i];
}

std::optional<double> multiple_of(const std::optional<double>& value, const std::optional<double>& least) {
    return value && least && *least > 0 ? std::optional(*value / *least) : std::nullopt;
}

CsvRow frameworks_row(const NamedPoint& point, const Figures& least) {
    const plan::Point& planned = point.trace().point;
    CsvRow row{{"Network", planned.settings.network.name()},
               {"Precision", std::string(name_of(planned.settings.dtype))},
               {"Framework", measure::variant_of(measure::VariedBy::engine, planned)}};
    if (!point.source.empty()) row.insert(row.begin(), {"file", point.source});
    const Figures figures = figures_of(point);
    for (size_t i = 0; i < figures.size(); ++i) row.emplace_back(kFrameworkHeadings.at(i), number_cell(figures.at(i)));
    for (size_t i = 0; i < figures.size(); ++i)
        row.emplace_back(kRelativeHeadings.at(i), number_cell(multiple_of(figures.at(i), least.at(i))));
    return row;
}

}  // namespace

std::string frameworks_text(std::span<const ResultsFile> files) {
    const auto points = named_points(files);
    std::map<std::string, Figures> least;
    for (const auto& point : points) lower_to(least[group_of(point)], figures_of(point));
    std::vector<CsvRow> rows;
    for (const auto& point : points)
        if (point.summary().pipeline_s) rows.push_back(frameworks_row(point, least[group_of(point)]));
    ResultsFile none;
    none.sessions.emplace_back();
    const RecordedPoint nothing;
    return csv_of(frameworks_row({files.size() > 1 ? "file" : "", "", &none, &nothing}, {}), rows);
}

}  // namespace pb::report
