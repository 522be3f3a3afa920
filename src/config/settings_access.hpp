// Sets and reads a setting by its dotted key: shared by YAML, `--set` and the options of `denoise`.
#pragma once

#include "config/settings.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace pb::config {

/// Dotted keys, in the order of the tables in settings.hpp.
[[nodiscard]] const std::vector<std::string>& point_keys();
[[nodiscard]] const std::vector<std::string>& study_keys();

[[nodiscard]] bool is_point_key(std::string_view key);
[[nodiscard]] bool is_study_key(std::string_view key);
[[nodiscard]] bool is_key_group(std::string_view word);  // true for "image", the group of image.path

/// Parses `text` into the setting called `key` and checks its range. Throws UsageError "patch = 0: must lie between 1
/// and 1073741824 px", "halo: 'wide' is not ..." or, for an unknown key, the text of `unknown_key`.
void set_by_key(PointSettings& settings, std::string_view key, std::string_view text);
void set_by_key(StudySettings& settings, std::string_view key, std::string_view text);

/// Text of the setting called `key`, as `parse_setting` reads it. Equal settings have equal texts. Throws UsageError as
/// above.
[[nodiscard]] std::string text_by_key(const PointSettings& settings, std::string_view key);

/// Which table of settings.hpp has a setting. work: what a point does; protocol: how it is measured and checked; study:
/// holds for all points.
enum class SettingGroup : uint8_t { work, protocol, study };

/// As the help and `patchbench settings` head the settings of a group.
[[nodiscard]] std::string_view title_of(SettingGroup group);

/// What `--help` and `patchbench settings` say of a setting.
struct SettingHelp {
    SettingGroup group = SettingGroup::work;
    std::string key;
    std::string unit;   // empty: none
    std::string shape;  // of its values: "N | auto"
    std::string meaning;
    std::string range;     // of a number: "1 to 3"; empty: any, or no number
    std::string value;     // that `settings` has: the default
    bool is_text = false;  // a name or a path, which may hold any character
};
/// Throws UsageError for an unknown key.
[[nodiscard]] SettingHelp help_by_key(const PointSettings& settings, std::string_view key);

/// Every setting with the value that it has in `point` or `study`, in the order of the tables in settings.hpp.
[[nodiscard]] std::vector<SettingHelp> all_settings(const PointSettings& point = {}, const StudySettings& study = {});

/// "key = value" of every setting, in the order of the tables in settings.hpp. Of files the name alone: each host may
/// have them in another folder.
[[nodiscard]] std::vector<std::string> setting_lines(const PointSettings& point);
[[nodiscard]] std::vector<std::string> setting_lines(const StudySettings& study);

/// Range checks of every setting, for settings that were not made by `set_by_key`. Throws UsageError as above.
void validate(const PointSettings& settings);
void validate(const StudySettings& settings);

/// "unknown key 'pathc'; did you mean 'patch'?"; for a group such as `image`: its keys.
[[nodiscard]] std::string unknown_key(std::string_view key);

}  // namespace pb::config
