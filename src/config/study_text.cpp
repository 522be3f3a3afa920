#include "config/study_text.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::config {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const Place& place, const std::string& message) {
    throw UsageError(place.text() + ": " + message);
}

const Assignment* find_key(const Assignments& assignments, const std::string& key) {
    const auto found = std::find_if(assignments.rbegin(), assignments.rend(),
                                    [&](const Assignment& assignment) { return assignment.key == key; });
    return found == assignments.rend() ? nullptr : &*found;
}

void put(const Assignment& replacement, StudyText& study) {
    const auto is_same = [&](const Assignment& assignment) { return assignment.key == replacement.key; };
    for (GroupText& group : study.groups) std::erase_if(group.settings, is_same);
    auto& top = study.top.settings;
    const auto written = std::ranges::find_if(top, is_same);
    if (written == top.end())
        top.push_back(replacement);
    else
        *written = replacement;
}

void apply_preset(const StudyText& preset, StudyText& study) {
    for (const Assignment& replacement : preset.top.settings) put(replacement, study);
    if (preset.top.exclusions) study.top.exclusions = preset.top.exclusions;
    if (!preset.groups.empty()) study.groups = preset.groups;
}

const PresetText* choose_preset(const StudyFile& file, const Assignments& overrides) {
    const Assignment* chosen = find_key(overrides, "preset");
    if (chosen == nullptr) chosen = find_key(file.study.top.settings, "preset");
    if (chosen == nullptr || chosen->values.size() != 1 || chosen->values.front().text.empty()) return nullptr;
    const auto& [name, place] = chosen->values.front();
    std::vector<std::string> names;
    for (const PresetText& preset : file.presets) {
        if (preset.name == name) return &preset;
        names.push_back(preset.name);
    }
    if (names.empty()) fail(place, "preset: this study has no `presets`");
    const std::string nearest = nearest_word(name, names);
    fail(place, "preset: there is no '" + name + "'" + (nearest.empty() ? "." : did_you_mean(nearest)) +
                    " This study has " + fmt::format("{}", fmt::join(names, ", ")));
}

/// Checks every value by itself, even if a group overrides it, so that the expansion cannot fail.
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

void check_points_only(const Assignments& assignments, const char* where) {
    for (const Assignment& assignment : assignments) {
        if (is_study_key(assignment.key))
            fail(assignment.place, assignment.key + ": holds for the whole study; write it outside of `" + where + "`");
        check_point_values(assignment);
    }
}

void check_exclusions(const GroupText& group) {
    if (!group.exclusions) return;
    for (const Exclusion& exclusion : *group.exclusions) check_points_only(exclusion.keys, "exclude");
}

void check(const StudyText& study) {
    for (const Assignment& assignment : study.top.settings) {
        if (!is_study_key(assignment.key))
            check_point_values(assignment);
        else if (assignment.zip != 0)
            fail(assignment.place, assignment.key + ": holds for the whole study; write it outside of `zip`");
    }
    (void)read_study_settings(study.top.settings);
    check_exclusions(study.top);
    for (const GroupText& group : study.groups) {
        check_points_only(group.settings, "groups");
        check_exclusions(group);
    }
}

void check_preset(const PresetText& preset) {
    if (const Assignment* chosen = find_key(preset.study.top.settings, "preset"))
        fail(chosen->place, "preset: a preset cannot choose another one");
    check(preset.study);
}

/// "python:" of the setting `engine`, whose value is a file only after it; else nothing.
std::string prefix_of(const std::string& key, std::string_view value) {
    constexpr std::string_view kPython = "python:";
    return key == "engine" && value.starts_with(kPython) ? std::string(kPython) : "";
}

bool is_relative_path(const std::string& key, std::string_view value) {
    if (value.empty() || fs::path(value).is_absolute()) return false;
    if (key == "network") return names_network_file(value);
    if (key == "weights") return names_weights_file(value);
    return key == "image.path" || key == "image.clean" || key == "timed.results";
}

/// `value` in `folder`, without `..` when that names the same file (after a linked folder it may name another one).
fs::path beside(const fs::path& folder, const std::string& value) {
    const fs::path plain = folder / value;
    const fs::path shorter = plain.lexically_normal();
    std::error_code missing;
    const bool differs = fs::exists(plain, missing) && !fs::equivalent(plain, shorter, missing);
    return differs ? plain : shorter;
}

}  // namespace

std::string Place::text() const {
    const std::string name = origin ? *origin : "study";
    return line == 0 ? name : fmt::format("{}:{}:{}", name, line, column);
}

void resolve_paths(const fs::path& folder, Assignment& assignment) {
    for (PlacedText& value : assignment.values) {
        const std::string prefix = prefix_of(assignment.key, value.text);
        const std::string path = value.text.substr(prefix.size());
        if (is_relative_path(assignment.key, path) || (!prefix.empty() && !fs::path(path).is_absolute()))
            value.text = prefix + beside(folder, path).string();
    }
}

Config expand_study(const StudyFile& file, const Assignments& overrides) {
    check(file.study);
    for (const PresetText& preset : file.presets) check_preset(preset);
    StudyText study = file.study;
    if (const PresetText* preset = choose_preset(file, overrides)) apply_preset(preset->study, study);
    for (const Assignment& replacement : overrides) put(replacement, study);
    check(study);  // the overrides, too
    Config config;
    config.study = read_study_settings(study.top.settings);
    if (!file.name.empty() && find_key(study.top.settings, "name") == nullptr) config.study.name = file.name;
    expand_points(study, config);
    return config;
}

}  // namespace pb::config
