#include "config/text.hpp"

#include "base/network_format.hpp"
#include "base/text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>

namespace pb::config {

namespace {

constexpr std::string_view kPythonPrefix = "python:";
constexpr std::string_view kSeedPrefix = "seed:";

using HaloKind = HaloSetting::Kind;
constexpr EnumName<HaloKind> kHaloWords[] = {{HaloKind::exact, "exact"},
                                             {HaloKind::carried, "carried"},
                                             {HaloKind::exchanged, "exchanged"},
                                             {HaloKind::automatic, "auto"}};

/// "0.1", or a quotient as "25/255"; both parts and the result are finite.
bool read_real(std::string_view text, double& value) {
    const size_t slash = text.find('/');
    double dividend = 0, divisor = 1;
    if (!read_number(text.substr(0, slash), dividend)) return false;
    if (slash != std::string_view::npos && !read_number(text.substr(slash + 1), divisor)) return false;
    if (!std::isfinite(dividend) || !std::isfinite(divisor) || !std::isfinite(dividend / divisor)) return false;
    value = dividend / divisor;
    return true;
}

/// Nothing for auto.
template <NamedEnum E>
std::optional<E> parse_enum_or_auto(std::string_view text) {
    if (text == "auto") return std::nullopt;
    if (const auto found = find_enum<E>(text)) return found;
    throw UsageError(fmt::format("'{}' is none of: {} | auto", text, names_of<E>()));
}

[[noreturn]] void refuse(std::string_view text, const std::string& expected) {
    constexpr size_t kDigits = std::numeric_limits<int64_t>::digits10;
    if (text.size() > kDigits && text.find_first_not_of("0123456789") == std::string_view::npos)
        throw UsageError(fmt::format("'{}' is too large", text));
    throw UsageError("'" + std::string(text) + "' is not " + expected);
}

template <class Number>
std::string number_text(Number value) {
    std::array<char, 64> digits{};
    const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    return {digits.data(), result.ptr};
}

}  // namespace

bool names_network_file(std::string_view text) {
    return text.find('/') != std::string_view::npos || network_format(text);
}

bool is_seed(std::string_view text) { return text.starts_with(kSeedPrefix); }

uint64_t seed_of(std::string_view text) {
    uint64_t seed = 0;
    if (!read_number(text.substr(kSeedPrefix.size()), seed))
        throw UsageError(fmt::format("weights = {}: must be seed:<n>, with a whole number from 0 on", text));
    return seed;
}

bool names_weights_file(std::string_view text) { return text != kDefaultWeights && !is_seed(text); }

std::string NetworkSetting::name() const {
    if (!is_custom()) return std::string(name_of(kind));
    std::string stem = std::filesystem::path(file).stem().string();
    std::ranges::replace_if(
        stem, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '.'; }, '_');
    return stem;
}

void parse_setting(std::string_view text, std::string& value) { value = text; }

void parse_setting(std::string_view text, int64_t& value) {
    if (!read_number(text, value)) refuse(text, "a whole number");
}

void parse_setting(std::string_view text, uint64_t& value) {
    if (!read_number(text, value)) refuse(text, "a whole number from 0 on");
}

void parse_setting(std::string_view text, double& value) {
    if (!read_real(text, value)) refuse(text, "a finite number");
}

void parse_setting(std::string_view text, bool& value) {
    const bool yes = text == "true" || text == "on" || text == "yes";
    if (!yes && text != "false" && text != "off" && text != "no")
        refuse(text, "one of: true | false | on | off | yes | no");
    value = yes;
}

void parse_setting(std::string_view text, HaloSetting& value) {
    for (const auto& [kind, word] : kHaloWords) {
        if (text != word) continue;
        value = {kind, 0};
        return;
    }
    int64_t pixels = 0;
    if (text != "none" && (!read_number(text, pixels) || pixels < 0))
        refuse(text, "a number of pixels, none, exact, carried, exchanged or auto");
    value = {HaloKind::pixels, pixels};
}

void parse_setting(std::string_view text, NetworkSetting& value) {
    const auto known = find_enum<network::NetworkKind>(text);
    if (!known && !names_network_file(text))
        throw UsageError(fmt::format("'{}' is none of: {} ({})", text, value_shape(value), network_endings_text()));
    value = NetworkSetting(names_network_file(text) ? network::kCustomKind : *known);
    if (value.kind == network::kCustomKind) value.file = text;
}

void parse_setting(std::string_view text, EngineSetting& value) {
    if (text.starts_with(kPythonPrefix) && text.size() > kPythonPrefix.size()) {
        value = EngineKind::python;
        value.file = text.substr(kPythonPrefix.size());
        return;
    }
    value = EngineSetting::automatic();
    if (const auto known = parse_enum_or_auto<EngineKind>(text)) value = *known;
    if (value.kind == EngineKind::python) refuse(text, "an engine by itself: name the file, as in python:my_engine.py");
}

void parse_setting(std::string_view text, LayoutSetting& value) {
    value = LayoutSetting();
    if (const auto known = parse_enum_or_auto<Layout>(text)) value = *known;
}

void parse_setting(std::string_view text, CountSetting& value) {
    if (text == value.automatic_word) {
        value.count = 0;
        return;
    }
    int64_t count = 0;
    if (!read_number(text, count) || count < 1)
        refuse(text, "a whole number from 1 on or " + std::string(value.automatic_word));
    value.count = count;
}

void parse_setting(std::string_view text, BatchSetting& value) {
    if (text == "auto" || text == "largest") {
        value = {0, text == "largest"};
        return;
    }
    int64_t count = 0;
    if (!read_number(text, count) || count < 1) refuse(text, "a whole number from 1 on, auto or largest");
    value = {count, false};
}

void parse_setting(std::string_view text, NoiseLevelSetting& value) {
    double level = -1;
    const bool is_number = read_real(text, level);
    // Older studies and results write auto as -1.
    if (text != "auto" && (!is_number || (level < 0 && level != -1))) refuse(text, "a noise level or auto");
    value.level = level < 0 ? -1 : level;
}

std::string value_shape(const std::string& /*any*/) { return "TEXT"; }
std::string value_shape(int64_t /*any*/) { return "N"; }
std::string value_shape(uint64_t /*any*/) { return "N"; }
std::string value_shape(double /*any*/) { return "X | X/Y"; }
std::string value_shape(bool /*any*/) { return "true | false"; }
std::string value_shape(const HaloSetting& /*any*/) { return "N | none | exact | carried | exchanged | auto"; }
std::string value_shape(const NetworkSetting& /*any*/) { return names_of<network::NetworkKind>() + " | FILE"; }
std::string value_shape(const EngineSetting& /*any*/) {
    std::string names;
    for (const auto& [kind, name] : enum_table<EngineKind>())
        add_item(names, std::string(name) + (kind == EngineKind::python ? ":FILE" : ""), " | ");
    return names + " | auto";
}
std::string value_shape(const LayoutSetting& /*any*/) { return names_of<Layout>() + " | auto"; }
std::string value_shape(const CountSetting& value) { return "N | " + std::string(value.automatic_word); }
std::string value_shape(const BatchSetting& /*any*/) { return "N | auto | largest"; }
std::string value_shape(const NoiseLevelSetting& /*any*/) { return "X | X/Y | auto"; }

std::string format_setting(const std::string& value) { return value; }
std::string format_setting(int64_t value) { return number_text(value); }
std::string format_setting(uint64_t value) { return number_text(value); }
std::string format_setting(double value) { return number_text(value); }
std::string format_setting(bool value) { return value ? "true" : "false"; }

std::string format_setting(const HaloSetting& value) {
    for (const auto& [kind, word] : kHaloWords)
        if (value.kind == kind) return std::string(word);
    return value.pixels == 0 ? "none" : number_text(value.pixels);
}

std::string format_setting(const NetworkSetting& value) {
    return value.is_custom() ? value.file : std::string(name_of(value.kind));
}

std::string format_setting(const EngineSetting& value) {
    if (value.is_automatic) return "auto";
    if (value.kind == EngineKind::python) return std::string(kPythonPrefix) + value.file;
    return std::string(name_of(value.kind));
}

std::string format_setting(const LayoutSetting& value) {
    return value.is_automatic ? "auto" : std::string(name_of(value.kind));
}

std::string format_setting(const BatchSetting& value) {
    if (value.is_open()) return value.largest ? "largest" : "auto";
    return number_text(value.count);
}

std::string format_setting(const NoiseLevelSetting& value) {
    return value.is_automatic() ? "auto" : number_text(value.level);
}

std::string format_setting(const CountSetting& value) {
    return value.is_automatic() ? std::string(value.automatic_word) : number_text(value.count);
}

}  // namespace pb::config
