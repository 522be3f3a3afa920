// The settings image.raw, image.range, image.nodata and image.bands, which describe the samples of a file.
#pragma once

#include "patchbench/base/shape.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace pb::config {

/// Dense rows of interleaved little-endian samples.
struct RawShape {
    Extent extent;
    int64_t channels = 1;  // 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha, more are bands
    DType dtype = DType::u8;
};

/// "2000x3000x1:u16": height, width, channels and type (u8 | u16 | u32 | i16 | f16 | f32 | f64). Throws UsageError that
/// names the expected form, like the functions below.
[[nodiscard]] RawShape parse_raw_shape(std::string_view text);

/// "" (the range of the type), "auto" (percentiles) or "LO:HI".
struct RangeChoice {
    enum class Kind : uint8_t { of_type, automatic, fixed };
    Kind kind = Kind::of_type;
    double low = 0, high = 1;  // when the kind is fixed
};
[[nodiscard]] RangeChoice parse_range(std::string_view text);

/// "" (as the file says), "none" or a value, which may be nan.
struct NodataChoice {
    enum class Kind : uint8_t { of_file, none, value };
    Kind kind = Kind::of_file;
    double value = 0;
};
[[nodiscard]] NodataChoice parse_nodata(std::string_view text);

/// Channels of a file, counting alpha.
struct BandChoice {
    int64_t first = 0;
    int64_t count = 1;
};
/// "4" or "4-6": 1 or 3 channels, counted from 1. nullopt for "": all channels but alpha.
[[nodiscard]] std::optional<BandChoice> parse_bands(std::string_view text);

}  // namespace pb::config
