// Writes the Bencher Metric Format: an object of benchmarks, each an object of measures, each with a value and, if
// known, its interval. Source: https://bencher.dev/docs/reference/bencher-metric-format.
#include "report/export/exports.hpp"
#include "report/export/named_points.hpp"
#include "report/results/json_values.hpp"

namespace pb::report {

namespace {

record::Json measure(const Figure& figure, const measure::Summary& summary) {
    record::Json all{{"value", figure.value}};
    if (figure.metric->key != std::string_view("pipeline_s")) return all;
    if (summary.pipeline_low_s) all["lower_value"] = *summary.pipeline_low_s;
    if (summary.pipeline_high_s) all["upper_value"] = *summary.pipeline_high_s;
    return all;
}

}  // namespace

std::string bmf_text(std::span<const ResultsFile> files) {
    record::Json all = record::Json::object();
    for (const auto& point : valid_points(files))
        for (const auto& figure : headline_figures(point.summary()))
            all[point.name()][figure.metric->key] = measure(figure, point.summary());
    return json_text(all);
}

}  // namespace pb::report
