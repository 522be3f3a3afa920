// How a TIFF file lays out its pixels, checked before anything is allocated for them.
#pragma once

#include "image/image_file.hpp"
#include "image/tiff_handle.hpp"

#include <cstdint>
#include <vector>

namespace pb {

/// A block is a strip (as wide as the image) or a tile.
struct TiffLayout {
    ImageInfo info;
    int64_t samples = 0;  // in the file, alpha included; 1 where a palette makes three channels of it
    bool planar = false;  // one plane of blocks per sample
    bool tiled = false;
    Extent block;      // pixels; a strip at the bottom has fewer rows
    Extent blocks;     // in one plane, down and across
    bool raw = false;  // uncompressed: any part of a block can be read by itself
    bool byte_swapped = false;
    bool white_is_zero = false;
    std::vector<uint8_t> palette;  // 256 RGB entries, or empty

    [[nodiscard]] size_t sample_bytes() const { return size_of(info.dtype); }
    [[nodiscard]] size_t pixel_bytes() const { return sample_bytes() * static_cast<size_t>(planar ? 1 : samples); }
    [[nodiscard]] int64_t rows_of_block(int64_t block_row) const;
    [[nodiscard]] uint32_t block_index(int64_t plane, int64_t block_row, int64_t block_column) const {
        return static_cast<uint32_t>((plane * blocks.h + block_row) * blocks.w + block_column);
    }
};

/// The layout of the file's current page. Throws UsageError for what is not supported and for headers that the
/// file's length cannot justify.
[[nodiscard]] TiffLayout read_tiff_layout(TIFF* tiff, const RandomAccessFile& file);

/// Profile, resolution, orientation and tags.
[[nodiscard]] ImageMetadata read_tiff_metadata(TIFF* tiff, const TiffLayout& layout);

/// 256 RGB entries of 8 bits from the file's colour map.
[[nodiscard]] std::vector<uint8_t> read_tiff_palette(TIFF* tiff, const RandomAccessFile& file);

}  // namespace pb
