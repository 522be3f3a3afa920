// The choice between classic TIFF and BigTIFF, and TIFF files whose pixels other processes write.
#pragma once

#include "base/atomic_file.hpp"
#include "image/formats/random_access.hpp"
#include "image/image_file.hpp"
#include "image/placed_image.hpp"

#include <algorithm>
#include <cstdint>

namespace pb::image {

/// True when the file must be a BigTIFF. Offsets in a classic TIFF have 32 bits; the margin is for directories and
/// metadata. `may_grow`: the pixels are compressed, and LZW makes noise up to half as large again.
[[nodiscard]] constexpr bool needs_big_tiff(uint64_t pixel_bytes, uint64_t metadata_bytes, bool may_grow = false) {
    constexpr uint64_t kLimit = uint64_t{1} << 32U;
    constexpr uint64_t kMargin = uint64_t{64} << 20U;
    return pixel_bytes + (may_grow ? pixel_bytes / 2 : 0) + metadata_bytes + kMargin > kLimit;
}

/// The bytes of colour profile and tags. `metadata` may be null.
[[nodiscard]] uint64_t metadata_bytes(const ImageMetadata* metadata);

/// Returns TIFF's number of the compression.
[[nodiscard]] uint16_t tag_of(Compression compression);
/// Returns the compression of the input file where it is lossless, otherwise none. `metadata` may be null.
[[nodiscard]] uint16_t same_compression(const ImageMetadata* metadata);

/// The extent of all tiles that hold an image.
[[nodiscard]] constexpr Extent tiled_extent(const Extent& image, const Extent& tile) {
    return {round_up(image.h, tile.h), round_up(image.w, tile.w)};
}

/// Whether an image is written in tiles of that extent: libtiff wants multiples of 16, and little may be added to fill
/// those at the edges.
[[nodiscard]] constexpr bool can_write_tiles(const Extent& tile, const Extent& image) {
    constexpr int64_t kStep = 16, kMost = 4096, kFewPixels = int64_t{1} << 20U, kMostTimes = 4;
    if (tile.h % kStep != 0 || tile.w % kStep != 0 || tile.h > kMost || tile.w > kMost) return false;
    return tiled_extent(image, tile).pixels() <= std::max(kFewPixels, kMostTimes * image.pixels());
}

class TiffHandle;
/// Writes an image as strips into the current directory, with the compression of its metadata where that is lossless.
/// The caller writes the directory.
void write_tiff_page(const TiffHandle& tiff, const ImageToSave& image);

inline constexpr int64_t kTiffTile = 256;            // edge in pixels
inline constexpr uint64_t kBigTiffHeaderBytes = 16;  // offset of the first tile

/// Writes a BigTIFF of uncompressed tiles without their pixels. The pixels are a hole that begins at
/// kBigTiffHeaderBytes and holds the tiles row by row. `metadata` may be null. Throws Error.
void lay_out_tiff(const ImageInfo& info, const ImageMetadata* metadata, AtomicFile& file);

/// The content of a TIFF except its pixels.
struct TiffContent {
    ImageInfo info;
    const ImageMetadata* metadata = nullptr;
    uint16_t compression = 1;  // TIFF's number; 1: none
};

/// Writes a copy of `placed`, a file of lay_out_tiff with its pixels, in which the tiles are compressed. Only one tile
/// is in memory at a time. Differences of neighbouring samples are compressed (predictor). Every tile is read back and
/// compared. Throws Error.
void compress_tiff(const RandomAccessFile& placed, const TiffContent& content, AtomicFile& file);

}  // namespace pb::image
