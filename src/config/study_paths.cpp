// Paths in a study: whoever writes one knows what lies beside it, not from where it will be started.
#include "config/study_text.hpp"

#include <string_view>

namespace pb {

namespace fs = std::filesystem;

namespace {

bool is_path(const std::string& key, std::string_view value) {
    if (value.empty() || fs::path(value).is_absolute()) return false;
    if (key == "weights") return value != "default" && !value.starts_with("seed:");
    return key == "image.path" || key == "timed.results";
}

/// Without `..` where that names the same file: after a folder that is a link it may name another one.
fs::path beside(const fs::path& folder, const std::string& value) {
    const fs::path plain = folder / value;
    const fs::path shorter = plain.lexically_normal();
    std::error_code missing;
    const bool differs = fs::exists(plain, missing) && !fs::equivalent(plain, shorter, missing);
    return differs ? plain : shorter;
}

void set_beside(const fs::path& folder, Assignments& assignments) {
    for (Assignment& assignment : assignments)
        for (PlacedText& value : assignment.values)
            if (is_path(assignment.key, value.text)) value.text = beside(folder, value.text).string();
}

void set_beside(const fs::path& folder, GroupText& group) {
    set_beside(folder, group.settings);
    if (!group.exclusions) return;
    for (Exclusion& exclusion : *group.exclusions) set_beside(folder, exclusion.keys);
}

void set_beside(const fs::path& folder, StudyText& study) {
    set_beside(folder, study.top);
    for (GroupText& group : study.groups) set_beside(folder, group);
}

}  // namespace

void set_paths_beside(const fs::path& folder, StudyFile& file) {
    set_beside(folder, file.study);
    for (PresetText& preset : file.presets) set_beside(folder, preset.study);
}

}  // namespace pb
