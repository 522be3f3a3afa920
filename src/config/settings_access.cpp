#include "config/settings_access.hpp"

#include "base/text.hpp"
#include "config/call_times.hpp"
#include "config/sample_settings.hpp"
#include "config/text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <filesystem>
#include <optional>
#include <type_traits>
#include <utility>

namespace pb::config {

namespace {

/// " px"; nothing for a number in [0,1], whose range says it.
std::string unit_after_number(const FieldName& field) {
    return field.unit[0] == '\0' || field.unit[0] == '[' ? "" : " " + std::string(field.unit);
}

/// All digits, and no exponent for a level as small as 1e-4.
std::string limit_text(double limit) { return fmt::format("{:.15g}", limit); }

/// "1 to 3 px", where there are limits.
std::string range_of(const FieldName& field) {
    if (!std::isfinite(field.limits.high)) return "";
    return limit_text(field.limits.low) + " to " + limit_text(field.limits.high) + unit_after_number(field);
}

template <class Value>
inline constexpr bool kHasNoNumber =
    NamedEnum<Value> || std::same_as<Value, bool> || std::same_as<Value, std::string> ||
    std::same_as<Value, EngineSetting> || std::same_as<Value, NetworkSetting> || std::same_as<Value, LayoutSetting>;

template <class Value>
void check_limits(const FieldName& field, const Value& value) {
    if constexpr (requires { value.number(); }) {
        if (const auto number = value.number()) check_limits(field, *number);
    } else if constexpr (!kHasNoNumber<Value>) {
        const auto number = static_cast<double>(value);
        if (number >= field.limits.low && number <= field.limits.high) return;
        throw UsageError(std::string(field.key) + " = " + format_setting(value) + ": must lie between " +
                         limit_text(field.limits.low) + " and " + limit_text(field.limits.high) +
                         unit_after_number(field));
    }
}

template <class Value>
std::string readable_text(const Value& value) {
    return format_setting(value);
}

/// A level with many digits that is a few grey levels of 255 is stated so, as settings take it: "0.5/255".
std::string readable_text(double value) {
    constexpr size_t kFewDigits = 6;
    const std::string whole = format_setting(value), levels = format_setting(255 * value);
    return whole.size() > kFewDigits + 2 && levels.size() <= kFewDigits ? levels + "/255" : whole;
}

void visit(PointSettings& settings, auto&& visitor) { point_fields(settings, visitor); }
void visit(const PointSettings& settings, auto&& visitor) { point_fields(settings, visitor); }
void visit(StudySettings& settings, auto&& visitor) { study_fields(settings, visitor); }
void visit(const StudySettings& settings, auto&& visitor) { study_fields(settings, visitor); }

template <class Settings>
std::vector<std::string> keys_of() {
    std::vector<std::string> keys;
    const Settings settings;
    visit(settings, [&](const FieldName& field, const auto&) { keys.emplace_back(field.key); });
    return keys;
}

template <class Settings>
std::vector<std::string> lines_of(const Settings& settings) {
    std::vector<std::string> lines;
    visit(settings, [&]<class T>(const FieldName& field, const T& value) {
        std::string text = format_setting(value);
        if constexpr (std::same_as<T, std::string> || std::same_as<T, NetworkSetting>)
            text = std::filesystem::path(text).filename().string();
        lines.push_back(fmt::format("{} = {}", field.key, text));
    });
    return lines;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

// Checks that are not ranges.
void check_rest(const PointSettings& settings) {
    if (settings.image.channels == 2) throw UsageError("image.channels = 2: must be 1 (gray) or 3 (colour)");
    if (!settings.image.raw.empty()) (void)parse_raw_shape(settings.image.raw);
    (void)parse_range(settings.image.range);
    (void)parse_nodata(settings.image.nodata);
    (void)parse_bands(settings.image.bands);
    if (settings.weights.empty()) throw UsageError("weights: must name a file, seed:<n> or default");
    if (is_seed(settings.weights)) (void)seed_of(settings.weights);
    (void)CallTimes(settings.timed);
}

void check_rest(const StudySettings& settings) {
    const std::string& name = settings.name;
    if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos || has_controls(name))
        throw UsageError("name = '" + name +
                         "': becomes a file name, so it must not be empty, begin with '.' or hold '/' or control "
                         "characters");
}

template <class Settings>
void set_any(Settings& settings, std::string_view key, std::string_view text) {
    bool found = false;
    visit(settings, [&](const FieldName& field, auto& value) {
        if (field.key != key) return;
        found = true;
        try {
            parse_setting(text, value);
        } catch (const UsageError& error) {
            throw UsageError(std::string(key) + ": " + error.what());
        }
        check_limits(field, value);
    });
    if (!found) throw UsageError(unknown_key(key));
    check_rest(settings);
}

template <class Settings>
void validate_any(const Settings& settings) {
    visit(settings, [](const FieldName& field, const auto& value) { check_limits(field, value); });
    check_rest(settings);
}

std::vector<std::string> all_keys() {
    std::vector<std::string> keys = point_keys();
    keys.insert(keys.end(), study_keys().begin(), study_keys().end());
    return keys;
}

/// Names that other programs use for a setting, each between blanks.
constexpr auto kSynonyms = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"dtype", " precision data_type "},
    {"network", " model net architecture "},
    {"weights", " checkpoint "},
    {"patch", " tile tile_size tiles patch_size window "},
    {"batch", " batch_size batchsize "},
    {"halo", " padding border context margin "},
    {"image.noise_sigma", " noise noise_sigma "},
    {"sigma", " noise_level "},
    {"ranks", " gpus num_ranks processes "},
    {"threads", " num_threads "},
    {"engine", " backend "},
    {"layout", " memory_format "},
    {"image.seed", " seed "},
    {"image.path", " input file path image.file "},
    {"image.width", " width "},
    {"image.height", " height "},
    {"stop.min_reps", " repetitions reps iterations "},
});

std::string_view find_synonym(std::string_view key) {
    const std::string word = " " + lower_case(key) + " ";
    const auto has_word = [&](const auto& each) { return each.second.find(word) != std::string_view::npos; };
    const auto* found = std::ranges::find_if(kSynonyms, has_word);
    return found == kSynonyms.end() ? std::string_view{} : found->first;
}

/// Keys below `group`, joined by ", "; empty when there is no such group.
std::string members_of(std::string_view group) {
    const std::string prefix = std::string(group) + ".";
    std::string members;
    for (const auto& key : all_keys())
        if (key.starts_with(prefix)) add_item(members, key);
    return members;
}

}  // namespace

const std::vector<std::string>& point_keys() {
    static const auto keys = keys_of<PointSettings>();
    return keys;
}

const std::vector<std::string>& study_keys() {
    static const auto keys = keys_of<StudySettings>();
    return keys;
}

bool is_point_key(std::string_view key) { return contains(point_keys(), key); }
bool is_study_key(std::string_view key) { return contains(study_keys(), key); }

void set_by_key(PointSettings& settings, std::string_view key, std::string_view text) { set_any(settings, key, text); }
void set_by_key(StudySettings& settings, std::string_view key, std::string_view text) { set_any(settings, key, text); }

std::string text_by_key(const PointSettings& settings, std::string_view key) {
    std::optional<std::string> text;
    visit(settings, [&](const FieldName& field, const auto& value) {
        if (field.key == key) text = format_setting(value);
    });
    if (!text) throw UsageError(unknown_key(key));
    return *text;
}

std::string_view title_of(SettingGroup group) {
    switch (group) {
        case SettingGroup::work: return "What each point does";
        case SettingGroup::protocol: return "How each point is measured and checked";
        case SettingGroup::study: return "The study: one value each";
    }
    return "";
}

SettingHelp help_by_key(const PointSettings& settings, std::string_view key) {
    const auto all = all_settings(settings);
    const auto found = std::ranges::find_if(
        all, [&](const SettingHelp& help) { return help.group != SettingGroup::study && help.key == key; });
    if (found == all.end()) throw UsageError(unknown_key(key));
    return *found;
}

std::vector<std::string> setting_lines(const PointSettings& point) { return lines_of(point); }
std::vector<std::string> setting_lines(const StudySettings& study) { return lines_of(study); }

std::vector<SettingHelp> all_settings(const PointSettings& point, const StudySettings& study) {
    std::vector<SettingHelp> all;
    SettingGroup group = SettingGroup::work;
    const auto add = [&](const FieldName& field, const auto& value) {
        constexpr bool kIsText = std::same_as<std::remove_cvref_t<decltype(value)>, std::string>;
        all.push_back({group, field.key, field.unit, value_shape(value), field.meaning, range_of(field),
                       readable_text(value), kIsText});
    };
    work_fields(point, add);
    group = SettingGroup::protocol;
    protocol_fields(point.protocol, add);
    group = SettingGroup::study;
    study_fields(study, add);
    return all;
}

void validate(const PointSettings& settings) { validate_any(settings); }
void validate(const StudySettings& settings) { validate_any(settings); }

bool is_key_group(std::string_view word) { return !members_of(word).empty(); }

std::string unknown_key(std::string_view key) {
    const std::string members = members_of(key);
    if (!members.empty()) return "'" + std::string(key) + "' is a group of settings, not a value: " + members;
    constexpr std::array<std::string_view, 4> kStudyWords{"groups", "zip", "exclude", "presets"};
    if (key == "presets") return "'presets' cannot stand here; preset=NAME chooses one (docs/studies.md)";
    if (std::ranges::find(kStudyWords, key) != kStudyWords.end())
        return "'" + std::string(key) + "' cannot stand here; docs/studies.md says where it can";
    std::vector<std::string> known = all_keys();
    if (const size_t dot = key.rfind('.'); dot != std::string_view::npos && contains(known, key.substr(dot + 1)))
        return fmt::format("unknown key '{}': '{}' stands by itself, not below '{}'", key, key.substr(dot + 1),
                           key.substr(0, dot));
    if (const size_t blank = key.find(' '); contains(known, key.substr(0, blank)))
        return fmt::format("unknown key '{}': a ':' is missing after '{}'", key, key.substr(0, blank));
    known.insert(known.end(), kStudyWords.begin(), kStudyWords.end());
    for (const auto& each : all_keys())  // groups, such as "image"
        if (const auto dot = each.find('.'); dot != std::string::npos) known.push_back(each.substr(0, dot));
    std::string nearest(find_synonym(key));
    if (nearest.empty()) nearest = nearest_word(key, known);
    return "unknown key '" + std::string(key) + "'" + did_you_mean(nearest);
}

}  // namespace pb::config
