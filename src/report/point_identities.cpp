#include "report/point_identities.hpp"

#include "base/mapped.hpp"

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>

namespace pb::report {

namespace {

plan::Point with_file_names(plan::Point point) {
    config::PointSettings& settings = point.settings;
    for (std::string* file : {&settings.image.path, &settings.image.clean, &settings.weights, &settings.network.file,
                              &settings.engine.file, &settings.timed.results})
        *file = std::filesystem::path(*file).filename().string();
    return point;
}

std::string key_by_names(const plan::Point& point) { return plan::key_of(with_file_names(point)); }

}  // namespace

void PointIdentities::add(const std::vector<const plan::Point*>& points) {
    std::map<std::string, std::string> by_paths;
    for (const plan::Point* point : points) {
        const std::string name = key_by_names(*point), key = plan::key_of(*point);
        const auto [first, is_new] = by_paths.try_emplace(name, key);
        if (!is_new && first->second != key) ambiguous_.insert(name);
    }
}

void PointIdentities::add(const plan::Plan& plan) {
    add(mapped(plan.points, [](const plan::Point& point) { return &point; }));
}

void PointIdentities::add(const ResultsFile& file) {
    for (int64_t session = 0; session < std::ssize(file.sessions); ++session) add(file.planned_points(session));
}

std::string PointIdentities::of(const plan::Point& point) const {
    std::string name = key_by_names(point);
    return ambiguous_.contains(name) ? plan::key_of(point) : name;
}

std::vector<Difference> work_differences(const plan::Point& here, const plan::Point& there) {
    auto by_names = differences(work_texts(with_file_names(here)), work_texts(with_file_names(there)));
    return by_names.empty() ? differences(work_texts(here), work_texts(there)) : by_names;
}

}  // namespace pb::report
