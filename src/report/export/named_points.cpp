#include "report/export/named_points.hpp"

#include "report/tables/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

}  // namespace

std::vector<std::string> source_names(std::span<const fs::path> files) {
    std::vector<std::vector<std::string>> words;
    size_t deepest = 1;
    for (const auto& file : files) deepest = std::max(deepest, words.emplace_back(words_of(file)).size());
    std::vector<std::string> names;
    for (const auto& mine : words) {
        const auto same = [&](size_t depth) {
            return std::count_if(words.begin(), words.end(),
                                 [&](const auto& other) { return joined(other, depth) == joined(mine, depth); });
        };
        size_t depth = 1;
        while (depth < deepest && same(depth) > 1) ++depth;
        const std::string name = joined(mine, same(depth) > 1 ? 1 : depth);
        std::string unique = name;
        for (int i = 2; std::count(names.begin(), names.end(), unique) > 0; ++i) unique = fmt::format("{}-{}", name, i);
        names.push_back(unique);
    }
    return names;
}

std::vector<std::string> source_names(std::span<const ResultsFile> files) {
    std::vector<fs::path> paths;
    paths.reserve(files.size());
    for (const auto& file : files) paths.push_back(file.file);
    return source_names(paths);
}

std::vector<NamedPoint> named_points(const ResultsFile& file) {
    const auto points = file.in_order();
    std::vector<measure::Summary> summaries;
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
    return point.summary().validity == measure::Validity::valid && point.summary().pipeline_s.has_value();
}

std::vector<NamedPoint> valid_points(std::span<const ResultsFile> files) {
    auto points = named_points(files);
    std::erase_if(points, [](const NamedPoint& point) { return !is_valid(point); });
    return points;
}

}  // namespace pb::report
