// What the settings image.range, image.nodata and image.bands say of the samples of a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pb {

/// "" (that of the type), "auto" (percentiles) or "LO:HI".
struct RangeChoice {
    enum class Kind : uint8_t { of_type, automatic, fixed };
    Kind kind = Kind::of_type;
    double low = 0, high = 1;  // of kind fixed
};
/// Throws UsageError that says what was expected, as the next ones.
[[nodiscard]] RangeChoice parse_range(std::string_view text);

/// "" (what the file says), "none" or a value, which may be nan.
struct NodataChoice {
    enum class Kind : uint8_t { of_file, none, value };
    Kind kind = Kind::of_file;
    double value = 0;
};
[[nodiscard]] NodataChoice parse_nodata(std::string_view text);

/// Channels of a file, alpha counted.
struct BandChoice {
    int64_t first = 0;
    int64_t count = 1;
};
/// "4" or "4-6": counted from 1, 1 or 3 of them. Nothing for "": all but alpha.
[[nodiscard]] std::optional<BandChoice> parse_bands(std::string_view text);

}  // namespace pb
