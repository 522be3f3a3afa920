// The layout of the pixels in a TIFF file, checked before memory is allocated for them.
#pragma once

#include "image/image_file.hpp"
#include "image/tiff/handle.hpp"

#include <cstdint>
#include <vector>

namespace pb::image {

/// A block is a strip (as wide as the image) or a tile.
struct TiffLayout {
    ImageInfo info;
    int64_t samples = 0;  // samples per pixel in the file, including alpha; 1 for a palette, which gives three channels
    bool planar = false;  // one plane of blocks per sample
    bool tiled = false;
    Extent block;      // in pixels; the last strip may have fewer rows
    Extent blocks;     // number of blocks in one plane, vertically and horizontally
    bool raw = false;  // uncompressed: any part of a block can be read separately
    bool byte_swapped = false;
    bool white_is_zero = false;
    bool has_lossy_colours = false;  // JPEG of brightness and colours
    std::vector<uint8_t> palette;    // 256 RGB entries, or empty

    [[nodiscard]] size_t sample_bytes() const { return size_of(info.dtype); }
    [[nodiscard]] size_t pixel_bytes() const { return sample_bytes() * static_cast<size_t>(planar ? 1 : samples); }
    [[nodiscard]] int64_t rows_of_block(int64_t block_row) const;
    [[nodiscard]] uint32_t block_index(int64_t plane, int64_t block_row, int64_t block_column) const {
        return static_cast<uint32_t>((plane * blocks.h + block_row) * blocks.w + block_column);
    }
};

/// Reads the layout of the file's current page. Throws UsageError when it is not supported, and when the header states
/// more data than the length of the file allows.
[[nodiscard]] TiffLayout read_tiff_layout(TIFF* tiff, const RandomAccessFile& file);

/// Reads colour profile, resolution, orientation and tags.
[[nodiscard]] ImageMetadata read_tiff_metadata(TIFF* tiff, const TiffLayout& layout);

}  // namespace pb::image
