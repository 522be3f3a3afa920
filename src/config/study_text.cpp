#include "config/study_text.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/config/by_key.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace pb {

namespace {

constexpr double kMaxPoints = 100'000;

[[noreturn]] void fail(const Place& place, const std::string& message) {
    throw UsageError(place.text() + ": " + message);
}

template <class Settings>
void set_at(Settings& settings, const std::string& key, const PlacedText& value) {
    try {
        set_by_key(settings, key, value.text);
    } catch (const UsageError& error) {
        fail(value.place, error.what());
    }
}

Assignment* find_key(Assignments& assignments, const std::string& key) {
    const auto found = std::find_if(assignments.begin(), assignments.end(),
                                    [&](const Assignment& assignment) { return assignment.key == key; });
    return found == assignments.end() ? nullptr : &*found;
}

bool has_key(const Assignments& assignments, const std::string& key) {
    return std::any_of(assignments.begin(), assignments.end(), [&](const auto& each) { return each.key == key; });
}

/// Every value is legal by itself, also where a group overrides it, so that the expansion meets no error.
void check_point_values(const Assignment& assignment) {
    if (!is_point_key(assignment.key)) fail(assignment.place, unknown_key(assignment.key));
    if (assignment.values.empty()) fail(assignment.place, assignment.key + ": the list is empty");
    PointSettings scratch;
    for (const PlacedText& value : assignment.values) set_at(scratch, assignment.key, value);
}

StudySettings read_study_settings(const Assignments& top) {
    StudySettings settings;
    for (const Assignment& assignment : top) {
        if (!is_study_key(assignment.key)) continue;
        if (assignment.is_list)
            fail(assignment.place, assignment.key + ": holds for the whole study, so it takes one value, not a list");
        set_at(settings, assignment.key, assignment.values.front());
    }
    return settings;
}

/// The point settings of a group: defaults that it leaves in place, then its own.
Assignments merged(const Assignments& top, const Assignments& group) {
    Assignments all;
    for (const Assignment& assignment : top)
        if (is_point_key(assignment.key) && !has_key(group, assignment.key)) all.push_back(assignment);
    all.insert(all.end(), group.begin(), group.end());
    return all;
}

void check_size(const Assignments& assignments, size_t num_points) {
    double product = 1;
    std::string factors;
    for (const Assignment& assignment : assignments) {
        if (assignment.values.size() == 1) continue;
        product *= static_cast<double>(assignment.values.size());
        factors +=
            (factors.empty() ? "" : " x ") + assignment.key + " (" + std::to_string(assignment.values.size()) + ")";
    }
    if (static_cast<double>(num_points) + product <= kMaxPoints) return;
    std::array<char, 32> total{};
    std::snprintf(total.data(), total.size(), "%.6g", static_cast<double>(num_points) + product);
    fail(assignments.empty() ? Place{} : assignments.back().place,
         "the study expands to at least " + std::string(total.data()) + " points, 100000 are allowed" +
             (factors.empty() ? "" : "; this group: " + factors));
}

/// Appends the product of the axes, the last one varying fastest.
void expand_group(const Assignments& assignments, std::vector<PointSettings>& points) {
    check_size(assignments, points.size());
    std::vector<size_t> chosen(assignments.size(), 0);
    for (bool more = true; more;) {
        PointSettings& point = points.emplace_back();
        for (size_t i = 0; i < assignments.size(); ++i)
            set_at(point, assignments[i].key, assignments[i].values[chosen[i]]);
        more = false;
        for (size_t axis = assignments.size(); axis-- > 0 && !more;) {
            more = ++chosen[axis] < assignments[axis].values.size();
            if (!more) chosen[axis] = 0;
        }
    }
}

void check_group(const Assignments& group) {
    for (const Assignment& assignment : group) {
        if (is_study_key(assignment.key))
            fail(assignment.place, assignment.key + ": holds for the whole study; write it outside of `groups`");
        check_point_values(assignment);
    }
}

}  // namespace

std::string Place::text() const {
    const std::string name = origin ? *origin : "study";
    return line == 0 ? name : name + ":" + std::to_string(line) + ":" + std::to_string(column);
}

void apply_overrides(StudyText& study, const Assignments& overrides) {
    for (const Assignment& replacement : overrides) {
        for (Assignments& group : study.groups)
            std::erase_if(group, [&](const Assignment& assignment) { return assignment.key == replacement.key; });
        if (Assignment* written = find_key(study.top, replacement.key))
            *written = replacement;
        else
            study.top.push_back(replacement);
    }
}

Config expand_study(const StudyText& study) {
    Config config;
    for (const Assignment& assignment : study.top)
        if (!is_study_key(assignment.key)) check_point_values(assignment);
    config.study = read_study_settings(study.top);
    for (const Assignments& group : study.groups) check_group(group);
    if (study.groups.empty()) expand_group(merged(study.top, {}), config.points);
    for (const Assignments& group : study.groups) expand_group(merged(study.top, group), config.points);
    return config;
}

}  // namespace pb
