#include "config/sample_settings.hpp"

#include "config/text.hpp"

#include "patchbench/base/enum_names.hpp"
#include "patchbench/base/error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace pb::config {

namespace {

[[noreturn]] void refuse(const char* key, std::string_view text, const char* expected) {
    throw UsageError(std::string(key) + " = '" + std::string(text) + "': must be " + expected);
}

[[noreturn]] void refuse_raw(std::string_view text) {
    refuse("image.raw", text,
           "height x width x channels : type, as 2000x3000x1:u16 (2 or 4 channels: with alpha, more: bands; "
           "u8, u16, u32, i16, f16, f32 or f64)");
}

}  // namespace

RawShape parse_raw_shape(std::string_view text) {
    std::array<int64_t, 3> numbers{};
    const char* at = text.data();
    const char* const end = at + text.size();
    for (size_t i = 0; i < numbers.size(); ++i) {
        const auto [next, failure] = std::from_chars(at, end, numbers[i]);
        const bool last = i + 1 == numbers.size();
        if (failure != std::errc() || next == end || *next != (last ? ':' : 'x')) refuse_raw(text);
        at = next + 1;
    }
    const auto [height, width, channels] = numbers;
    const std::string_view type(at, static_cast<size_t>(end - at));
    const bool edges = height >= 1 && width >= 1 && static_cast<double>(std::max(height, width)) <= kMaxEdge;
    constexpr int64_t kMostBands = 65535;
    const auto dtype = find_enum<DType>(type);
    if (!edges || channels < 1 || channels > kMostBands || !dtype || dtype == DType::bf16) refuse_raw(text);
    return {{height, width}, channels, *dtype};
}

RangeChoice parse_range(std::string_view text) {
    if (text.empty()) return {};
    if (text == "auto") return {.kind = RangeChoice::Kind::automatic};
    RangeChoice choice{.kind = RangeChoice::Kind::fixed};
    const size_t colon = text.find(':');
    const bool numbers = colon != std::string_view::npos && reads_as(text.substr(0, colon), choice.low) &&
                         reads_as(text.substr(colon + 1), choice.high);
    if (!numbers || !(choice.low < choice.high) || !std::isfinite(choice.high - choice.low))
        refuse("image.range", text, "auto, or LO:HI with LO below HI, as -300:4700");
    return choice;
}

NodataChoice parse_nodata(std::string_view text) {
    if (text.empty()) return {};
    if (text == "none") return {.kind = NodataChoice::Kind::none};
    NodataChoice choice{.kind = NodataChoice::Kind::value};
    if (text == "nan")
        choice.value = std::nan("");
    else if (text == "inf" || text == "-inf")
        choice.value = std::copysign(std::numeric_limits<double>::infinity(), text == "inf" ? 1 : -1);
    else if (!reads_as(text, choice.value))
        refuse("image.nodata", text, "a number, as -9999, nan, inf, -inf or none");
    return choice;
}

std::optional<BandChoice> parse_bands(std::string_view text) {
    if (text.empty()) return std::nullopt;
    int64_t first = 0, last = 0;
    const size_t dash = text.find('-');
    const bool numbers = reads_as(text.substr(0, dash), first) &&
                         reads_as(dash == std::string_view::npos ? text : text.substr(dash + 1), last);
    if (!numbers || first < 1 || (last != first && last != first + 2))
        refuse("image.bands", text, "one band or three that follow each other, counted from 1, as 4 or 4-6");
    return BandChoice{first - 1, last - first + 1};
}

}  // namespace pb::config
