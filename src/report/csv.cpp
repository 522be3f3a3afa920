#include "patchbench/report/csv.hpp"

#include "patchbench/base/atomic_file.hpp"
#include "patchbench/base/error.hpp"
#include "patchbench/config/text.hpp"
#include "patchbench/report/metrics.hpp"
#include "patchbench/report/report.hpp"

#include <cctype>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace pb {

namespace {

/// One row as (column, value): the header is the columns of an empty row, so the two cannot disagree.
using Row = std::vector<std::pair<std::string, std::string>>;

std::string number_cell(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? format_setting(*value) : "";
}

template <class Integer>
std::string integer_cell(const std::optional<Integer>& value) {
    return value ? std::to_string(*value) : "";
}

std::string joined(const std::vector<std::string>& parts) {
    std::string all;
    for (const auto& part : parts) all += (all.empty() ? "" : "; ") + part;
    return all;
}

/// "patch" in px is patch_px; ranges such as [0,1] are no ending, and nothing is said twice.
std::string column_of(const FieldName& field) {
    std::string unit;
    for (const char c : std::string_view(field.unit))
        unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::string key = field.key;
    if (unit.empty() || unit[0] == '[' || key.ends_with("_" + unit)) return key;
    return key + "_" + unit;
}

void add_identity(const PointTrace& trace, const Summary& summary, const std::string& label, Row& row) {
    row.insert(row.end(), {{"key", summary.key},
                           {"index", std::to_string(summary.index)},
                           {"label", label},
                           {"status", std::string(name_of(summary.status))},
                           {"validity", std::string(name_of(summary.validity))},
                           {"reasons", joined(summary.reasons)},
                           {"reduction", trace.reduction},
                           {"weights_source", trace.weights_source},
                           {"weights_sha256", trace.weights_sha256},
                           {"image_sha256", trace.image_sha256}});
}

void add_settled(const Point& point, Row& row) {
    row.insert(row.end(), {{"settled.device", std::string(name_of(point.device))},
                           {"settled.num_ranks", std::to_string(point.num_ranks)},
                           {"settled.halo_px", integer_cell(point.halo)},
                           {"settled.batch", integer_cell(point.batch)},
                           {"settled.sigma", number_cell(point.sigma)},
                           {"settled.image_height_px", std::to_string(point.source.extent.h)},
                           {"settled.image_width_px", std::to_string(point.source.extent.w)},
                           {"settled.image_channels", std::to_string(point.source.channels)}});
}

Row row_of(const PointTrace& trace, const Summary& summary, const std::string& label) {
    Row row;
    add_identity(trace, summary, label, row);
    point_fields(trace.point.settings, [&](const FieldName& field, const auto& value) {
        row.emplace_back(column_of(field), format_setting(value));
    });
    add_settled(trace.point, row);
    row.emplace_back("slowest_rank", integer_cell(summary.slowest_rank));
    row.emplace_back("allocated_peak_rank", integer_cell(summary.allocated_peak_rank));
    for (const auto& metric : metrics()) row.emplace_back(metric.key, number_cell(metric.value(summary)));
    return row;
}

std::string quoted(const std::string& field) {
    if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
    std::string text = "\"";
    for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    return text + "\"";
}

template <class Pick>
std::string line_of(const Row& row, Pick pick) {
    std::string line;
    for (const auto& cell : row) {
        if (&cell != row.data()) line += ',';
        line += quoted(pick(cell));
    }
    return line + "\n";
}

}  // namespace

std::string csv_text(const std::vector<PointTrace>& traces, const std::vector<Summary>& summaries) {
    require(traces.size() == summaries.size(), "write_csv: every trace needs its summary");
    const auto labels = unique_labels(summaries);
    std::string text = line_of(row_of(PointTrace{}, Summary{}, ""), [](const auto& cell) { return cell.first; });
    for (size_t i = 0; i < traces.size(); ++i)
        text += line_of(row_of(traces[i], summaries[i], labels[i]), [](const auto& cell) { return cell.second; });
    return text;
}

void write_csv(const std::vector<PointTrace>& traces, const std::vector<Summary>& summaries,
               const std::filesystem::path& file) {
    const std::string text = csv_text(traces, summaries);
    AtomicFile out(file);
    out.append(std::as_bytes(std::span(text)));
    out.commit();
}

}  // namespace pb
