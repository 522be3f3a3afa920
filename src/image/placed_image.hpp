// Image files that many processes write together. The position of each pixel in the file is known before any pixel is
// written. Supported: tiled BigTIFF, .npy and raw samples, uncompressed. One process creates and completes the file;
// all processes write their own rectangles. When all are finished, the first process can compress the tiles of a
// BigTIFF.
#pragma once

#include "base/atomic_file.hpp"
#include "image/image_file.hpp"

#include "patchbench/base/enum_names.hpp"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace pb::image {

/// Lossless compression of the tiles of a TIFF.
enum class Compression : uint8_t { none, deflate, lzw };

/// Throws UsageError when compression is requested and the extension of `file` is not .tif or .tiff.
void check_can_compress(Compression compression, const std::filesystem::path& file);

/// The byte offsets of the pixels in a file. Alpha is one of the interleaved channels.
struct PixelPlaces {
    Extent image;
    int64_t tile = 0;  // edge of a tile in pixels, tiles are stored row by row; 0: dense rows, no tiles
    size_t pixel_bytes = 0;
    uint64_t begin = 0;  // byte offset of the first pixel

    [[nodiscard]] uint64_t end() const;
    /// Returns the byte offset of a pixel. The pixels to its right follow it, up to the end of the row or of the row of
    /// the tile.
    [[nodiscard]] uint64_t of(int64_t row, int64_t column) const;
};

/// Determines the layout from the extension of `file`. Throws UsageError when the extension is not .tif, .tiff, .npy or
/// .raw, or `info` does not fit the format.
[[nodiscard]] PixelPlaces find_places(const ImageInfo& info, const std::filesystem::path& file);

/// The file from its creation to its final rename. Only one of the processes that write the file holds a PlacedImage.
class PlacedImage {
  public:
    /// Writes everything except the pixels under a temporary name and reserves disk space for the whole file. Throws
    /// UsageError in the cases of find_places, check_can_compress and AtomicFile. Throws Error when the disk has no
    /// room for the file, or for the copy that compression makes (as large as the pixels; 1.5 times as large for LZW,
    /// which makes noise larger). `metadata` may be null and must outlive this object.
    PlacedImage(const ImageInfo& info, const ImageMetadata* metadata, const std::filesystem::path& file,
                Compression compression = Compression::none);

    [[nodiscard]] const std::filesystem::path& temporary_name() const { return file_.path(); }
    /// Completes the file. Call it when all processes have written and flushed. With compression it first makes a
    /// compressed copy, reads it back and compares it tile by tile; the copy then takes the name. Throws Error. After
    /// an error, or without this call, nothing appears under the final name.
    void commit();

  private:
    ImageInfo info_;
    const ImageMetadata* metadata_;
    std::filesystem::path name_;
    Compression compression_;
    AtomicFile file_;
};

/// Writes pixels into the file of a PlacedImage. Each process has its own writer.
class PixelWriter {
  public:
    /// `temporary_name` is that of the PlacedImage; `file` and `info` are its constructor arguments. Throws Error when
    /// this process cannot see the temporary file.
    PixelWriter(const std::filesystem::path& temporary_name, const ImageInfo& info, const std::filesystem::path& file);

    /// Writes `pixels` (and `alpha`, if the file has it) to the rectangle whose first pixel is (row, column). The
    /// rectangles of all calls by all processes must not overlap. Throws Error with the reason (disk full, quota).
    void write(int64_t row, int64_t column, const PixelView& pixels, const PixelView& alpha = {});

    /// Waits until all data is on the disk. Throws Error.
    void flush() { file_.flush(); }

  private:
    void write_rows(const Rect& part, const ImageToSave& image);
    void write_tiles(const Rect& part, const ImageToSave& image);

    PixelPlaces places_;
    PartFile file_;
    std::vector<std::byte> rows_;  // the rows of one tile
};

/// `save_image` with a compression: through a PlacedImage, by one process.
void save_image(const ImageToSave& image, const std::filesystem::path& file, Compression compression);

/// Opens what has been written so far, with the same readers as any image. `name` is `temporary_name`, or `file` when
/// the file is complete.
[[nodiscard]] std::unique_ptr<ImageFile> open_placed(const std::filesystem::path& name, const ImageInfo& info,
                                                     const std::filesystem::path& file);

}  // namespace pb::image
