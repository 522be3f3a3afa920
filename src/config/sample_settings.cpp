#include "config/sample_settings.hpp"

#include "config/text.hpp"

#include "patchbench/base/error.hpp"

#include <cmath>
#include <string>

namespace pb {

namespace {

[[noreturn]] void refuse(const char* key, std::string_view text, const char* expected) {
    throw UsageError(std::string(key) + " = '" + std::string(text) + "': must be " + expected);
}

template <class Value>
bool reads_as(std::string_view text, Value& value) {
    try {
        parse_setting(text, value);
        return true;
    } catch (const UsageError&) {
        return false;
    }
}

}  // namespace

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
    else if (!reads_as(text, choice.value))
        refuse("image.nodata", text, "a number, as -9999, nan or none");
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

}  // namespace pb
