// What raw samples are: a file of them says nothing of itself.
#pragma once

#include "patchbench/base/shape.hpp"

#include <cstdint>
#include <string_view>

namespace pb {

/// Dense rows of interleaved little-endian samples.
struct RawShape {
    Extent extent;
    int64_t channels = 1;  // of the file: 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha, more are bands
    DType dtype = DType::u8;
};

/// "2000x3000x1:u16": height, width, channels and type (u8 | u16 | u32 | i16 | f16 | f32 | f64). Throws UsageError that
/// says so.
[[nodiscard]] RawShape parse_raw_shape(std::string_view text);

}  // namespace pb
