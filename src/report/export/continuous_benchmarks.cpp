// Writes the formats of services that follow benchmarks over commits.
#include "measure/point_figures.hpp"
#include "report/export/exports.hpp"
#include "report/results/json_values.hpp"

#include <fmt/format.h>

namespace pb::report {

namespace {

record::Json measure(const Figure& figure, const measure::Summary& summary) {
    record::Json all{{"value", figure.value}};
    if (figure.metric->key != std::string_view("pipeline_s")) return all;
    if (summary.pipeline_low_s) all["lower_value"] = *summary.pipeline_low_s;
    if (summary.pipeline_high_s) all["upper_value"] = *summary.pipeline_high_s;
    return all;
}

record::Json entry(const NamedPoint& point, const Figure& figure) {
    const Metric& metric = *figure.metric;
    const auto interval = measure::pipeline_interval(point.summary());
    record::Json all{{"name", point.name() + "." + metric.key}, {"unit", metric.unit}, {"value", figure.value}};
    if (metric.key == std::string_view("pipeline_s") && interval)
        all["range"] = fmt::format("{:.4g} to {:.4g}", interval->low, interval->high);
    all["extra"] = fmt::format("{}\nrepetitions: {}", metric.meaning, point.summary().repetitions);
    return all;
}

std::string text_of(std::span<const ResultsFile> files, Better better) {
    record::Json all = record::Json::array();
    for (const auto& point : valid_points(files))
        for (const auto& figure : headline_figures(point.summary()))
            if (figure.metric->better == better) all.push_back(entry(point, figure));
    return json_text(all);
}

}  // namespace

// The Bencher Metric Format: an object of benchmarks, each an object of measures, each with a value and, if
// known, its interval. Source: https://bencher.dev/docs/reference/bencher-metric-format.
std::string bmf_text(std::span<const ResultsFile> files) {
    record::Json all = record::Json::object();
    for (const auto& point : valid_points(files))
        for (const auto& figure : headline_figures(point.summary()))
            all[point.name()][figure.metric->key] = measure(figure, point.summary());
    return json_text(all);
}

// The custom tools format of github-action-benchmark. Source: its README and the interface BenchmarkResult in
// its src/extract.ts: an array of objects with name, unit and value and the optional texts range and extra. All metrics
// in one file improve in the same direction.
std::string github_smaller_text(std::span<const ResultsFile> files) { return text_of(files, Better::lower); }
std::string github_bigger_text(std::span<const ResultsFile> files) { return text_of(files, Better::higher); }

}  // namespace pb::report
