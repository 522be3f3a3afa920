// Writes points under the column names of published studies: those that patchbench reproduces, and one that compares
// frameworks on a CPU. The reference takes means over runs where patchbench takes medians, so these columns are means
// as well.
#include "base/mapped.hpp"
#include "base/statistics.hpp"
#include "config/text.hpp"
#include "measure/study/variants.hpp"
#include "report/export/exports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace pb::report {

namespace {

using Value = std::optional<double>;

Value times(const Value& value, double factor) { return value ? Value(*value * factor) : std::nullopt; }

/// Returns `work` of a pass / mean time of a pass.
Value mean_rate(const NamedPoint& point, double work) {
    return measure::quotient(work, point.summary().pipeline_mean_s);
}

/// Returns the standard deviation of the rates of the single passes.
Value rate_deviation(const NamedPoint& point) {
    if (!point.summary().pipeline_sd_s) return std::nullopt;
    const auto patches = static_cast<double>(point.trace().num_patches);
    return standard_deviation(mapped(point.trace().wall_s, [&](double seconds) { return patches / seconds; }));
}

/// Returns `value` where the point ran on GPUs. Memory of the CPU is not GPU memory.
Value of_gpu(const NamedPoint& point, const Value& value) {
    return point.trace().point.device == DeviceKind::cuda ? value : std::nullopt;
}

/// Returns the memory left on the device with the least of it: its memory minus all memory in use.
Value available_mib(const NamedPoint& point) {
    Value least;
    for (const auto& rank : point.summary().ranks) {
        const auto& places = point.topology().ranks;
        const auto place = std::ranges::find(places, rank.rank, &plan::RankPlace::rank);
        if (place == places.end() || place->memory_bytes == 0 || !rank.device_used_mib) return std::nullopt;
        const double left = static_cast<double>(place->memory_bytes) / kMiB - *rank.device_used_mib;
        least = std::min(least.value_or(left), left);
    }
    return of_gpu(point, least);
}

void add_labels(const NamedPoint& point, CsvRow& row) {
    const auto& settings = point.trace().point.settings;
    row.insert(row.end(), {{"label", point.label},
                           {"network", settings.network.name()},
                           {"device", std::string(name_of(point.trace().point.device))},
                           {"status", std::string(name_of(point.summary().status))}});
}

void add_batch_study(const NamedPoint& point, CsvRow& row) {
    constexpr double kMsPerS = 1e3;
    const auto& trace = point.trace();
    const auto& summary = point.summary();
    const auto processed = summary.pipeline_mean_s ? Value(trace.processed_pixels) : std::nullopt;
    row.insert(row.end(), {{"batch_size", integer_cell(trace.point.batch)},
                           {"avg_time_ms", number_cell(times(summary.pipeline_mean_s, kMsPerS))},
                           {"std_time_ms", number_cell(times(summary.pipeline_sd_s, kMsPerS))},
                           {"avg_memory_mb", number_cell(summary.allocated_peak_mib)},
                           {"std_memory_mb", ""},  // one peak covers all passes, so there is no spread
                           {"avg_throughput", number_cell(mean_rate(point, static_cast<double>(trace.num_patches)))},
                           {"std_throughput", number_cell(rate_deviation(point))},
                           {"total_pixels_processed", number_cell(processed)}});
}

void add_shape_study(const NamedPoint& point, CsvRow& row) {
    constexpr double kMega = 1e6;
    const auto& [h, w] = point.trace().point.source.extent;
    row.insert(row.end(),
               {{"image_size", fmt::format("{}x{}", h, w)},
                {"height", std::to_string(h)},
                {"width", std::to_string(w)},
                {"num_pixels", std::to_string(h * w)},
                {"throughput_mp_per_sec", number_cell(mean_rate(point, point.trace().useful_pixels / kMega))}});
}

void add_memory(const NamedPoint& point, CsvRow& row) {
    const auto& summary = point.summary();
    const std::string allocated = number_cell(of_gpu(point, summary.allocated_peak_mib));
    row.insert(row.end(), {{"gpu_memory_allocated_mb", allocated},
                           {"gpu_memory_reserved_mb", number_cell(of_gpu(point, summary.reserved_peak_mib))},
                           {"gpu_memory_max_allocated_mb", allocated},
                           {"gpu_available_memory_mb", number_cell(available_mib(point))}});
}

void add_steps(const NamedPoint& point, CsvRow& row) {
    for (const auto& [stage, name] : enum_table<record::Stage>())
        row.emplace_back(std::string(name) + "_time_sec", number_cell(point.summary().stage_s[stage]));
}

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
    return point.source + "\n" + config::format_setting(settings.network) + "\n" + std::string(name_of(settings.dtype));
}

void lower_to(Figures& least, const Figures& figures) {
    for (size_t i = 0; i < least.size(); ++i)
        if (figures[i] && (!least[i] || *figures[i] < *least[i])) least[i] = figures[i];
}

CsvRow frameworks_row(const NamedPoint& point, const Figures& least) {
    const plan::Point& planned = point.trace().point;
    CsvRow row{{"Network", planned.settings.network.name()},
               {"Precision", std::string(name_of(planned.settings.dtype))},
               {"Framework", measure::variant_of(measure::VariedBy::engine, planned)}};
    const Figures figures = figures_of(point);
    for (size_t i = 0; i < figures.size(); ++i) row.emplace_back(kFrameworkHeadings.at(i), number_cell(figures.at(i)));
    for (size_t i = 0; i < figures.size(); ++i)
        row.emplace_back(kRelativeHeadings.at(i), number_cell(measure::quotient(figures.at(i), least.at(i))));
    return row;
}

}  // namespace

CsvRow reference_row(const NamedPoint& point) {
    CsvRow row;
    add_labels(point, row);
    add_batch_study(point, row);
    add_shape_study(point, row);
    add_memory(point, row);
    add_steps(point, row);
    return row;
}

std::string frameworks_text(std::span<const ResultsFile> files) {
    auto points = named_points(files);
    std::erase_if(points,
                  [](const NamedPoint& point) { return !point.summary().pipeline_s || point.summary().simulated; });
    std::map<std::string, Figures> least;
    for (const auto& point : points) lower_to(least[group_of(point)], figures_of(point));
    return csv_of(points, files.size() > 1,
                  [&](const NamedPoint& point) { return frameworks_row(point, least[group_of(point)]); });
}

}  // namespace pb::report
