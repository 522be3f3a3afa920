#include "report/named_points.hpp"

#include "patchbench/report/report.hpp"

#include <algorithm>
#include <utility>

namespace pb {

namespace {

namespace fs = std::filesystem;

std::string source_name(const fs::path& file) {
    const fs::path folder = fs::absolute(file).parent_path().filename();
    return file.filename() == "results.jsonl" && !folder.empty() ? folder.string() : file.stem().string();
}

/// A resumed study's points are in the order in which they were measured.
std::vector<const RecordedPoint*> in_order(const ResultsFile& file) {
    std::vector<const RecordedPoint*> points;
    points.reserve(file.points.size());
    for (const auto& point : file.points) points.push_back(&point);
    std::stable_sort(points.begin(), points.end(),
                     [](const auto* a, const auto* b) { return a->summary.index < b->summary.index; });
    return points;
}

}  // namespace

const Topology& NamedPoint::topology() const {
    return file->sessions.at(static_cast<size_t>(recorded->session)).environment.topology;
}

std::vector<std::string> source_names(std::span<const ResultsFile> files) {
    std::vector<std::string> names;
    for (const auto& file : files) {
        const std::string name = source_name(file.file);
        std::string unique = name;
        for (int i = 2; std::count(names.begin(), names.end(), unique) > 0; ++i)
            unique = name + "-" + std::to_string(i);
        names.push_back(unique);
    }
    return names;
}

std::vector<NamedPoint> named_points(const ResultsFile& file) {
    const auto points = in_order(file);
    std::vector<Summary> summaries;
    summaries.reserve(points.size());
    for (const auto* point : points) summaries.push_back(point->summary);
    const auto labels = unique_labels(summaries);
    std::vector<NamedPoint> named;
    for (size_t i = 0; i < points.size(); ++i) named.push_back({"", labels[i], &file, points[i]});
    return named;
}

std::vector<NamedPoint> named_points(std::span<const ResultsFile> files) {
    const auto sources = source_names(files);
    std::vector<NamedPoint> all;
    for (size_t i = 0; i < files.size(); ++i)
        for (auto& point : named_points(files[i])) {
            if (files.size() > 1) point.source = sources[i];
            all.push_back(std::move(point));
        }
    return all;
}

bool is_valid(const NamedPoint& point) {
    return point.summary().validity == Validity::valid && point.summary().pipeline_s.has_value();
}

std::vector<NamedPoint> valid_points(std::span<const ResultsFile> files) {
    auto points = named_points(files);
    std::erase_if(points, [](const NamedPoint& point) { return !is_valid(point); });
    return points;
}

}  // namespace pb
