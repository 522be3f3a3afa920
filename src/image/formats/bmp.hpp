// The header of a Windows bitmap (BITMAPINFOHEADER and its successors up to BITMAPV5HEADER): what is read and written.
#pragma once

#include "image/formats/random_access.hpp"
#include "image/image_file.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace pb::image {

inline constexpr uint32_t kBmpInfo = 40, kBmpV5 = 124;    // bytes of the shortest and the longest info header
inline constexpr uint32_t kBmpPlain = 0, kBmpMasked = 3;  // values of the compression
inline constexpr uint32_t kBmpEmbedded = 0x4D424544;      // 'MBED', a colour space

struct BmpHeader {
    ImageInfo info;
    ImageMetadata metadata;
    uint64_t rows_begin = 0;  // byte offset of the first row in the file
    uint64_t row_bytes = 0;   // with the padding to a multiple of four
    bool top_down = false;    // rows are stored from the bottom up otherwise
    size_t pixel_bytes = 0;
    std::array<size_t, 4> places{2, 1, 0, 3};     // bytes of red, green, blue and alpha in a pixel
    std::vector<std::array<uint8_t, 3>> palette;  // empty: the pixels are samples
};

/// Throws UsageError for what is not supported (run-length codes, 1, 4 and 16 bits a pixel) and for a header that is
/// wrong or states a size that the length of the file rules out.
[[nodiscard]] BmpHeader read_bmp_header(const RandomAccessFile& file);

/// The padded length of a row.
[[nodiscard]] constexpr uint64_t bmp_row_bytes(int64_t width, uint64_t pixel_bytes) {
    return (static_cast<uint64_t>(width) * pixel_bytes + 3) / 4 * 4;
}

}  // namespace pb::image
