#include "report/export/exports.hpp"

#include "base/mapped.hpp"
#include "report/differences.hpp"
#include "report/tables/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace pb::report {

namespace {

namespace fs = std::filesystem;

/// Returns the words that name a file, the nearest first: the file's own name (unless it is results.jsonl), then the
/// folders above it.
std::vector<std::string> words_of(const fs::path& file) {
    const fs::path whole = fs::absolute(file).lexically_normal();
    std::vector<std::string> words;
    for (fs::path above = whole.parent_path(); above.has_filename(); above = above.parent_path())
        words.push_back(above.filename().string());
    if (whole.filename() != kResultsName || words.empty()) words.insert(words.begin(), whole.stem().string());
    return words;
}

/// Joins the first `depth` words, the farthest first: "old/study".
std::string joined(const std::vector<std::string>& words, size_t depth) {
    std::string name = words.front();
    for (size_t i = 1; i < std::min(depth, words.size()); ++i) name.insert(0, words[i] + "/");
    return name;
}

/// Joins `label` and those of `mine` in which a point of `alike` differs: "dncnn-p256/threads=2/ranks=1".
std::string with_differing(const std::string& label, const SettingTexts& mine, const std::vector<SettingTexts>& alike) {
    std::string name = label;
    for (size_t i = 0; i < mine.size(); ++i)
        if (std::ranges::any_of(alike, [&](const auto& other) { return other[i] != mine[i]; }))
            name += fmt::format("/{}={}", mine[i].first, mine[i].second);
    return name;
}

/// Names the points of one file by what they measure. Points with the same settings get numbers from the second on.
void name_by_settings(std::vector<NamedPoint>& points) {
    std::vector<SettingTexts> works;
    std::map<std::string, std::vector<SettingTexts>> alike;
    for (const auto& point : points)
        alike[point.summary().label].push_back(works.emplace_back(work_texts(point.trace().point)));
    std::map<std::string, int> times;
    for (size_t i = 0; i < points.size(); ++i) {
        const std::string& label = points[i].summary().label;
        std::string& name = points[i].label;
        name = with_differing(label, works[i], alike.at(label));
        if (const int number = ++times[name]; number > 1) name += fmt::format("#{}", number);
    }
}

template <class PointsOf>
std::vector<NamedPoint> of_all(std::span<const ResultsFile> files, PointsOf points_of) {
    const auto sources = source_names(files);
    std::vector<NamedPoint> all;
    for (size_t i = 0; i < files.size(); ++i)
        for (auto& point : points_of(files[i])) {
            if (files.size() > 1) point.source = sources[i];
            all.push_back(std::move(point));
        }
    return all;
}

constexpr ExportFormat kFormats[] = {
    {"gbench", "Google Benchmark's JSON: its tools/compare.py reads two of them", gbench_text},
    {"bmf", "Bencher Metric Format: bencher run --adapter json", bmf_text},
    {"github", "github-action-benchmark, tool customSmallerIsBetter: times, memory, errors", github_smaller_text},
    {"github-bigger", "github-action-benchmark, tool customBiggerIsBetter: rates, quality", github_bigger_text},
    {"chrome", "Chrome trace events of every timeline: ui.perfetto.dev, chrome://tracing", chrome_text, false},
};

}  // namespace

std::vector<std::string> source_names(std::span<const fs::path> files) {
    std::vector<std::vector<std::string>> words;
    size_t deepest = 1;
    for (const auto& file : files) deepest = std::max(deepest, words.emplace_back(words_of(file)).size());
    std::vector<std::string> names;
    for (const auto& mine : words) {
        const auto same = [&](size_t depth) {
            return std::ranges::count_if(
                words, [&](const auto& other) { return joined(other, depth) == joined(mine, depth); });
        };
        size_t depth = 1;
        while (depth < deepest && same(depth) > 1) ++depth;
        const std::string name = joined(mine, same(depth) > 1 ? 1 : depth);
        std::string unique = name;
        for (int i = 2; std::ranges::count(names, unique) > 0; ++i) unique = fmt::format("{}-{}", name, i);
        names.push_back(unique);
    }
    return names;
}

std::vector<std::string> source_names(std::span<const ResultsFile> files) {
    return source_names(mapped(files, &ResultsFile::file));
}

std::vector<NamedPoint> named_points(const ResultsFile& file) {
    const auto points = file.in_order();
    const auto labels = unique_labels(mapped(points, &RecordedPoint::summary));
    std::vector<NamedPoint> named;
    for (size_t i = 0; i < points.size(); ++i) named.push_back({"", labels[i], &file, points[i]});
    return named;
}

std::vector<NamedPoint> named_points(std::span<const ResultsFile> files) {
    return of_all(files, [](const ResultsFile& file) { return named_points(file); });
}

std::vector<NamedPoint> tracked_points(std::span<const ResultsFile> files) {
    return of_all(files, [](const ResultsFile& file) {
        auto points = named_points(file);
        name_by_settings(points);
        return points;
    });
}

bool is_valid(const NamedPoint& point) {
    return point.summary().validity == measure::Validity::valid && point.summary().pipeline_s.has_value();
}

std::vector<NamedPoint> valid_points(std::span<const ResultsFile> files) {
    auto points = tracked_points(files);
    std::erase_if(points, [](const NamedPoint& point) { return !is_valid(point); });
    return points;
}

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
