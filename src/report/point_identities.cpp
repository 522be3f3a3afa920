#include "report/point_identities.hpp"

#include <filesystem>
#include <map>
#include <utility>

namespace pb::report {

namespace {

std::string key_by_names(plan::Point point) {
    config::PointSettings& settings = point.settings;
    for (std::string* file : {&settings.image.path, &settings.image.clean, &settings.weights, &settings.network.file,
                              &settings.engine.file, &settings.timed.results})
        *file = std::filesystem::path(*file).filename().string();
    return plan::key_of(point);
}

}  // namespace

void PointIdentities::add(const std::vector<const plan::Point*>& points) {
    std::map<std::string, std::string> by_paths;
    for (const plan::Point* point : points) {
        const std::string name = key_by_names(*point), key = plan::key_of(*point);
        const auto [first, is_new] = by_paths.try_emplace(name, key);
        if (!is_new && first->second != key) ambiguous_.insert(name);
    }
}

std::string PointIdentities::of(const plan::Point& point) const {
    std::string name = key_by_names(point);
    return ambiguous_.contains(name) ? plan::key_of(point) : name;
}

}  // namespace pb::report
