// The header of a Windows bitmap (BITMAPINFOHEADER and its successors up to BITMAPV5HEADER): what reader and writer
// share.
#pragma once

#include <cstdint>

namespace pb::image {

inline constexpr uint32_t kBmpInfo = 40, kBmpV5 = 124;    // bytes of the shortest and the longest info header
inline constexpr uint32_t kBmpPlain = 0, kBmpMasked = 3;  // values of the compression
inline constexpr uint32_t kBmpEmbedded = 0x4D424544;      // 'MBED', a colour space

/// The padded length of a row.
[[nodiscard]] constexpr uint64_t bmp_row_bytes(int64_t width, uint64_t pixel_bytes) {
    return (static_cast<uint64_t>(width) * pixel_bytes + 3) / 4 * 4;
}

}  // namespace pb::image
