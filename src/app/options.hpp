// Options that several commands share: settings by key, numbers within limits, and the study with its overrides. Every
// number is read by `parse_setting`, as in a study.
#pragma once

#include "app/commands.hpp"
#include "config/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <string>
#include <vector>

namespace pb::app {

/// Adds an option that sets `key`. Its help is that of the settings table followed by `more`, and its default is the
/// present value in `settings`. Refuses values outside the table's range or the narrower `limits`. `settings` must
/// outlive `command`.
CLI::Option* add_setting(CLI::App& command, const std::string& option, const std::string& key,
                         config::PointSettings& settings, const std::string& more = {},
                         const config::Limits& limits = {});

/// Makes `action` the chosen one when the command line names `command`.
void set_action(CLI::App& command, Action& chosen, Action action);

/// A study file and any number of `--set KEY=VALUE`.
struct StudyArguments {
    std::string file;
    std::vector<std::string> overrides;
    bool trusts_model = false;
};
void add_study(CLI::App& command, StudyArguments& study);

/// Refuses an empty text, as a variable of the shell that is not set gives, where it would count as not given.
[[nodiscard]] CLI::Validator not_empty();

/// Adds an option whose value is what `read` makes of its text. Refuses text for which `read` throws UsageError, with
/// its message.
template <class Value, class Read>
CLI::Option* add_read(CLI::App& command, const std::string& option, Value& value, const std::string& meaning,
                      Read read) {
    const auto set = [&value, read](const std::string& text) { value = static_cast<Value>(read(text)); };
    const auto check = [read](const std::string& text) -> std::string {
        try {
            (void)read(text);
            return "";
        } catch (const UsageError& error) {
            return error.what();
        }
    };
    return command.add_option_function<std::string>(option, set, meaning)->check(CLI::Validator(check, ""));
}

/// The help of an option with its range, which stands before the default.
[[nodiscard]] std::string with_range(std::string meaning, const std::string& range);

/// Adds an option whose value is a number within `limits`, both ends included; `unit` may be empty.
template <class Number, class Value>
CLI::Option* add_number(CLI::App& command, const std::string& option, Value& value, const config::Limits& limits,
                        const std::string& unit, const std::string& meaning) {
    const std::string bounds = fmt::format("{} to {}{}", limits.low, limits.high, unit.empty() ? "" : " " + unit);
    const auto read = [limits, bounds](const std::string& text) {
        Number number{};
        config::parse_setting(text, number);
        const auto found = static_cast<double>(number);
        if (found >= limits.low && found <= limits.high) return number;
        throw UsageError("'" + text + "': a number from " + bounds + " is expected");
    };
    return add_read(command, option, value, with_range(meaning, bounds), read)
        ->type_name(config::value_shape(Number{}));
}

/// Adds an option whose value is one of a list of names.
template <NamedEnum E>
CLI::Option* add_choice(CLI::App& command, const std::string& option, E& value, const std::string& meaning) {
    return add_read(command, option, value, meaning, parse_enum<E>)->type_name(names_of<E>());
}

}  // namespace pb::app
