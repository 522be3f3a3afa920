// Settings as text: one `parse` and one `format` for each type, used by YAML, `--set`, `--help` and the echo.
#pragma once

#include "config/settings.hpp"

#include <string>
#include <string_view>

namespace pb::config {

// Each throws UsageError that names the expected form ("'abc' is not a whole number").
void parse_setting(std::string_view text, std::string& value);
void parse_setting(std::string_view text, int64_t& value);
void parse_setting(std::string_view text, uint64_t& value);
void parse_setting(std::string_view text, double& value);  // <number> | <number>/<number>, as 25/255
void parse_setting(std::string_view text, bool& value);    // true | false | on | off | yes | no
void parse_setting(std::string_view text, HaloSetting& value);
void parse_setting(std::string_view text, NetworkSetting& value);     // <name> | <file>
void parse_setting(std::string_view text, EngineSetting& value);      // <name> | python:<file>
void parse_setting(std::string_view text, LayoutSetting& value);      // <name> | auto
void parse_setting(std::string_view text, CountSetting& value);       // <n> | auto | all; automatic_word is kept
void parse_setting(std::string_view text, BatchSetting& value);       // <n> | auto | largest
void parse_setting(std::string_view text, NoiseLevelSetting& value);  // <level> | <number>/<number> | auto
template <NamedEnum E>
void parse_setting(std::string_view text, E& value) {
    value = parse_enum<E>(text);
}

/// Whether `text` is a value, which `value` then holds. Otherwise `value` is as before.
template <class Value>
[[nodiscard]] bool reads_as(std::string_view text, Value& value) {
    try {
        Value read = value;
        parse_setting(text, read);
        value = std::move(read);
        return true;
    } catch (const UsageError&) {
        return false;
    }
}

/// What `parse_setting` takes, for `--help`: "N | auto"; N is a whole number, X a number.
[[nodiscard]] std::string value_shape(const std::string& value);
std::string value_shape(const char* value) = delete;
[[nodiscard]] std::string value_shape(int64_t value);
[[nodiscard]] std::string value_shape(uint64_t value);
[[nodiscard]] std::string value_shape(double value);
[[nodiscard]] std::string value_shape(bool value);
[[nodiscard]] std::string value_shape(const HaloSetting& value);
[[nodiscard]] std::string value_shape(const NetworkSetting& value);
[[nodiscard]] std::string value_shape(const EngineSetting& value);
[[nodiscard]] std::string value_shape(const LayoutSetting& value);
[[nodiscard]] std::string value_shape(const CountSetting& value);
[[nodiscard]] std::string value_shape(const BatchSetting& value);
[[nodiscard]] std::string value_shape(const NoiseLevelSetting& value);
template <NamedEnum E>
[[nodiscard]] std::string value_shape(E /*any*/) {
    return names_of<E>();
}

[[nodiscard]] std::string format_setting(const std::string& value);
std::string format_setting(const char* value) = delete;  // would otherwise be taken for a bool
[[nodiscard]] std::string format_setting(int64_t value);
[[nodiscard]] std::string format_setting(uint64_t value);
[[nodiscard]] std::string format_setting(double value);  // shortest text that reads back as the same number
[[nodiscard]] std::string format_setting(bool value);
[[nodiscard]] std::string format_setting(const HaloSetting& value);
[[nodiscard]] std::string format_setting(const NetworkSetting& value);
[[nodiscard]] std::string format_setting(const EngineSetting& value);
[[nodiscard]] std::string format_setting(const LayoutSetting& value);
[[nodiscard]] std::string format_setting(const CountSetting& value);
[[nodiscard]] std::string format_setting(const BatchSetting& value);
[[nodiscard]] std::string format_setting(const NoiseLevelSetting& value);
template <NamedEnum E>
[[nodiscard]] std::string format_setting(E value) {
    return std::string(name_of(value));
}

}  // namespace pb::config
