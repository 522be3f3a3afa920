#include "base/text.hpp"
#include "config/text.hpp"
#include "report/export/exports.hpp"
#include "report/metrics.hpp"

#include <fmt/format.h>

#include <cmath>

namespace pb::report {

namespace {

std::string quoted(const std::string& field) {
    if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
    std::string text = "\"";
    for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    return text + "\"";
}

template <class Pick>
std::string csv_line(const CsvRow& row, Pick pick) {
    std::string line;
    for (const auto& cell : row) {
        if (&cell != row.data()) line += ',';
        line += quoted(pick(cell));
    }
    return line + "\n";
}

/// Adds the unit to the name: "patch" in px becomes patch_px. A range such as [0,1] is not added, and neither is a unit
/// that the name already ends with.
std::string column_of(const config::FieldName& field) {
    const std::string unit = lower_case(field.unit);
    std::string key = field.key;
    if (unit.empty() || unit[0] == '[' || key.ends_with("_" + unit)) return key;
    return key + "_" + unit;
}

void add_identity(const NamedPoint& point, CsvRow& row) {
    const auto& trace = point.trace();
    const auto& summary = point.summary();
    row.insert(row.end(), {{"key", summary.key},
                           {"index", std::to_string(summary.index)},
                           {"label", point.label},
                           {"status", std::string(name_of(summary.status))},
                           {"validity", std::string(name_of(summary.validity))},
                           {"reasons", fmt::format("{}", fmt::join(summary.reasons, "; "))},
                           {"measurements", std::to_string(record::num_measurements(trace))},
                           {"reduction", trace.reduction},
                           {"weights_source", trace.weights_source},
                           {"weights_sha256", trace.weights_sha256},
                           {"image_sha256", trace.image_sha256}});
}

void add_settled(const plan::Point& point, CsvRow& row) {
    row.insert(row.end(), {{"settled.device", std::string(name_of(point.device))},
                           {"settled.num_ranks", std::to_string(point.num_ranks)},
                           {"settled.halo_px", integer_cell(point.halo)},
                           {"settled.batch", integer_cell(point.batch)},
                           {"settled.sigma", point.uses_sigma ? number_cell(point.sigma) : ""},
                           {"settled.image_height_px", std::to_string(point.source.extent.h)},
                           {"settled.image_width_px", std::to_string(point.source.extent.w)},
                           {"settled.image_channels", std::to_string(point.source.channels)}});
}

CsvRow tidy_row(const NamedPoint& point) {
    const measure::Summary& summary = point.summary();
    const plan::Point& planned = point.trace().point;
    CsvRow row;
    add_identity(point, row);
    config::point_fields(planned.settings, [&](const config::FieldName& field, const auto& value) {
        row.emplace_back(column_of(field), config::format_setting(value));
    });
    add_settled(planned, row);
    row.emplace_back("slowest_rank", integer_cell(summary.slowest_rank));
    row.emplace_back("allocated_peak_rank", integer_cell(summary.allocated_peak_rank));
    for (const auto& metric : metrics()) row.emplace_back(metric.key, number_cell(metric.value(summary)));
    return row;
}

}  // namespace

std::string csv_of(const std::vector<NamedPoint>& points, bool has_files, const RowOf& row_of) {
    const auto line_of = [&](const NamedPoint& point, auto pick) {
        CsvRow row = row_of(point);
        if (has_files) row.insert(row.begin(), {"file", point.source});
        return csv_line(row, pick);
    };
    ResultsFile none;
    none.sessions.emplace_back();
    const RecordedPoint nothing;
    std::string text = line_of({"", "", &none, &nothing}, [](const auto& cell) { return cell.first; });
    for (const auto& point : points) text += line_of(point, [](const auto& cell) { return cell.second; });
    return text;
}

std::string number_cell(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? config::format_setting(*value) : "";
}

std::string csv_text(std::span<const ResultsFile> files, CsvStyle style) {
    if (style == CsvStyle::frameworks) return frameworks_text(files);
    return csv_of(named_points(files), files.size() > 1, style == CsvStyle::tidy ? tidy_row : reference_row);
}

}  // namespace pb::report
