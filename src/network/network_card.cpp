#include "patchbench/network/network_card.hpp"

#include "base/text.hpp"
#include "network/graph_text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

namespace pb::network {

namespace {

constexpr std::string_view kUnbounded = "unbounded";
constexpr std::string_view kLayers = ", layers ";
constexpr int64_t kMostPixels = 1 << 20;
constexpr double kLargestRange = 1e9;

[[noreturn]] void refuse_value(std::string_view name, std::string_view text, const std::string& expected) {
    throw UsageError(fmt::format("{}: '{}' is not {}", name, text, expected));
}

int64_t parse_pixels(std::string_view name, std::string_view text, int64_t least) {
    int64_t value = 0;
    if (!read_number(text, value) || value < least || value > kMostPixels)
        refuse_value(name, text, fmt::format("a whole number from {} to {}", least, kMostPixels));
    return value;
}

std::optional<int64_t> parse_distance(std::string_view name, std::string_view text) {
    if (text == kUnbounded) return std::nullopt;
    return parse_pixels(name, text, 0);
}

double parse_range(std::string_view name, std::string_view text) {
    double value = 0;
    if (!read_number(text, value) || !(value > 0 && value <= kLargestRange))
        refuse_value(name, text, "a number above 0");
    return value;
}

std::string distance_text(const std::optional<int64_t>& pixels) {
    return pixels ? std::to_string(*pixels) : std::string(kUnbounded);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> values_of(const NetworkCard& card) {
    std::vector<std::pair<std::string, std::string>> values{
        {"channels", std::to_string(card.channels)}, {"sigma", std::string(name_of(card.sigma))},
        {"range", fmt::format("{}", card.range)},    {"alignment", std::to_string(card.alignment)},
        {"radius", distance_text(card.radius)},      {"halo", distance_text(card.halo)}};
    if (card.step) values.emplace_back("step", std::to_string(*card.step));
    if (card.batch) values.emplace_back("batch", std::to_string(*card.batch));
    return values;
}

void set_value(NetworkCard& card, std::string_view name, std::string_view text) {
    if (name == "channels")
        card.channels = parse_pixels(name, text, 1);
    else if (name == "sigma")
        card.sigma = parse_enum<SigmaInput>(text);
    else if (name == "range")
        card.range = parse_range(name, text);
    else if (name == "alignment")
        card.alignment = parse_pixels(name, text, 1);
    else if (name == "step")
        card.step = parse_pixels(name, text, 1);
    else if (name == "batch")
        card.batch = parse_pixels(name, text, 1);
    else if (name == "radius")
        card.radius = parse_distance(name, text);
    else if (name == "halo")
        card.halo = parse_distance(name, text);
    else
        throw UsageError(fmt::format(
            "unknown key '{}'; known are channels, sigma, range, alignment, radius, halo, step, batch", name));
}

void check(const NetworkCard& card) {
    if (card.channels != 1 && card.channels != 3)
        throw UsageError(fmt::format("channels: {}: an image has 1 or 3", card.channels));
    if (card.alignment % card.extent_step() != 0)
        throw UsageError(
            fmt::format("alignment: {} is no multiple of the step, {}", card.alignment, card.extent_step()));
    if (card.radius.has_value() != card.halo.has_value())
        throw UsageError("radius and halo: both are numbers, or both are unbounded");
    if (card.halo && *card.halo % card.alignment != 0)
        throw UsageError(fmt::format("halo: {} is no multiple of the alignment, {}", *card.halo, card.alignment));
}

std::string to_text(const NetworkCard& card) {
    std::string text;
    for (const auto& [name, value] : values_of(card))
        fmt::format_to(std::back_inserter(text), "{}{} {}", text.empty() ? "" : ", ", name, value);
    return text;
}

std::string stored_text(const NetworkCard& card) {
    return card.layers ? fmt::format("{}{}{}", to_text(card), kLayers, line_of(*card.layers)) : to_text(card);
}

NetworkCard parse_network_card(std::string_view text) {
    NetworkCard card;
    const size_t layers = text.find(kLayers);
    if (layers != std::string_view::npos) card.layers = parse_graph(text.substr(layers + kLayers.size()));
    for (const std::string_view item : split(text.substr(0, layers), ", ")) {
        const size_t space = item.find(' ');
        if (space == std::string_view::npos) throw UsageError(fmt::format("'{}' is no card of a network", text));
        set_value(card, item.substr(0, space), item.substr(space + 1));
    }
    check(card);
    return card;
}

}  // namespace pb::network
