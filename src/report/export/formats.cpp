#include "report/export/exports.hpp"

#include <fmt/format.h>

#include <cmath>

namespace pb::report {

namespace {

constexpr ExportFormat kFormats[] = {
    {"gbench", "Google Benchmark's JSON: its tools/compare.py reads two of them", gbench_text},
    {"bmf", "Bencher Metric Format: bencher run --adapter json", bmf_text},
    {"github", "github-action-benchmark, tool customSmallerIsBetter: times, memory, errors", github_smaller_text},
    {"github-bigger", "github-action-benchmark, tool customBiggerIsBetter: rates, quality", github_bigger_text},
    {"chrome", "Chrome trace events of every timeline: ui.perfetto.dev, chrome://tracing", chrome_text, false},
};

}  // namespace

std::span<const ExportFormat> export_formats() { return kFormats; }

const ExportFormat& find_export_format(std::string_view name) {
    std::vector<std::string_view> known;
    for (const auto& format : kFormats) {
        if (name == format.name) return format;
        known.emplace_back(format.name);
    }
    throw UsageError(fmt::format("'{}' is none of: {}", name, fmt::join(known, " | ")));
}

std::vector<std::string> left_out_of_exports(std::span<const ResultsFile> files) {
    std::vector<std::string> all;
    for (const auto& point : tracked_points(files)) {
        if (is_valid(point)) continue;
        const auto& summary = point.summary();
        const bool measured = summary.status == record::PointStatus::ok;
        all.push_back(point.name() + ": " +
                      std::string(measured ? name_of(summary.validity) : name_of(summary.status)));
    }
    return all;
}

bool any_exported(std::span<const ResultsFile> files) { return !valid_points(files).empty(); }

std::vector<Figure> headline_figures(const measure::Summary& summary) {
    std::vector<Figure> figures;
    for (const auto& metric : metrics()) {
        const auto value = metric.value(summary);
        if (metric.is_headline() && value && std::isfinite(*value)) figures.push_back({&metric, *value});
    }
    return figures;
}

}  // namespace pb::report
