#include "app/options.hpp"

#include "app/custom_networks.hpp"
#include "config/settings_access.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pb::app {

namespace {

/// Returns what is wrong with `text`; empty when it is a legal value.
std::string find_wrong_value(const std::string& key, const std::string& text, const config::Limits& limits) {
    config::PointSettings scratch;
    try {
        config::set_by_key(scratch, key, text);
    } catch (const UsageError& error) {
        const std::string message = error.what();
        const std::string named = key + ": ";  // CLI11 names the option itself
        return message.starts_with(named) ? message.substr(named.size()) : message;
    }
    double number = 0;
    const bool is_word = !config::reads_as(text, number);  // such as auto
    return is_word || (number >= limits.low && number <= limits.high)
               ? ""
               : fmt::format("'{}': must lie between {:g} and {:g}", text, limits.low, limits.high);
}

/// Leaves out what 0 means where `limits` refuse it.
std::string meaning_within(const std::string& meaning, const config::Limits& limits) {
    return limits.low > 0 ? meaning.substr(0, meaning.find("; 0: ")) : meaning;
}

/// Finds a list that the shell split at a space.
std::string find_cut_list(const std::string& override_text) {
    const bool is_cut = override_text.find("=[") != std::string::npos && override_text.find(']') == std::string::npos;
    return is_cut ? override_text + ": the list has no end; a list with blanks needs quotes, as --set 'batch=[1, 4]'"
                  : "";
}

}  // namespace

std::string with_range(std::string meaning, const std::string& range) {
    return meaning.insert(std::min(meaning.size(), meaning.rfind(" (default: ")), "; " + range);
}

CLI::Option* add_setting(CLI::App& command, const std::string& option, const std::string& key,
                         config::PointSettings& settings, const std::string& more, const config::Limits& limits) {
    const config::SettingHelp help = config::help_by_key(settings, key);
    const std::string range =
        std::isfinite(limits.high) ? fmt::format("{:g} to {:g}", limits.low, limits.high) : help.range;
    const std::string meaning = meaning_within(help.meaning, limits) + more + (range.empty() ? "" : "; " + range) +
                                (help.value.empty() ? "" : fmt::format(" (default: {})", help.value));
    const auto set = [&settings, key](const std::string& text) { config::set_by_key(settings, key, text); };
    const auto check = [key, limits](const std::string& text) { return find_wrong_value(key, text, limits); };
    return command.add_option_function<std::string>(option, set, meaning)
        ->type_name(help.shape)
        ->check(CLI::Validator(check, ""));
}

CLI::Validator not_empty() {
    const auto check = [](const std::string& text) -> std::string {
        return text.empty() ? "is empty: give a value, or leave it out" : "";
    };
    return {check, ""};
}

void set_action(CLI::App& command, Action& chosen, Action action) {
    command.callback([&chosen, action = std::move(action)] { chosen = action; });
}

void add_study(CLI::App& command, StudyArguments& study) {
    command.add_option("study", study.file, "study file (YAML)")->required()->check(not_empty());
    command.add_option("--set", study.overrides, "overrides a setting everywhere; once for each")
        ->option_text("KEY=VALUE")
        ->allow_extra_args(false)
        ->check(find_cut_list);
    command.add_flag("--trust-model", study.trusts_model, kTrustHelp);
}

}  // namespace pb::app
