// Image files that many processes write together: where each pixel lies is known before any is written. Tiled BigTIFF,
// .npy and raw samples, uncompressed. One process makes the file and completes it, all write their own rectangles. That
// process can compress the tiles of a BigTIFF when all are written.
#pragma once

#include "base/atomic_file.hpp"
#include "image/image_file.hpp"

#include "patchbench/base/enum_names.hpp"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace pb {

/// Of the tiles of a TIFF; both without loss.
enum class Compression : uint8_t { none, deflate, lzw };

template <>
struct EnumNames<Compression> {
    static constexpr std::array<std::pair<Compression, std::string_view>, 3> names{
        {{Compression::none, "none"}, {Compression::deflate, "deflate"}, {Compression::lzw, "lzw"}}};
};

/// Throws UsageError when `file` is not called .tif or .tiff and is to be compressed.
void check_can_compress(Compression compression, const std::filesystem::path& file);

/// Bytes of the pixels of such a file, alpha among the channels.
struct PixelPlaces {
    Extent image;
    int64_t tile = 0;  // edge in pixels of the tiles, which come row by row; 0: dense rows
    size_t pixel_bytes = 0;
    uint64_t begin = 0;  // byte of the first pixel

    [[nodiscard]] uint64_t end() const;
    /// Byte of a pixel; those to its right follow it to the end of the row, or of the tile's row.
    [[nodiscard]] uint64_t of(int64_t row, int64_t column) const;
};

/// By the extension of `file`. Throws UsageError when it is none of .tif, .tiff, .npy and .raw, or `info` does not fit.
[[nodiscard]] PixelPlaces find_places(const ImageInfo& info, const std::filesystem::path& file);

/// The file from header to rename; one process of all that write it has it.
class PlacedImage {
  public:
    /// Writes everything but the pixels under a temporary name and reserves the room of the whole file. Throws
    /// UsageError as find_places, check_can_compress and AtomicFile, Error when there is no such room, or none for the
    /// copy that compression makes (as much again; half more for LZW, which noise makes longer). `metadata` may be null
    /// and must outlive it.
    PlacedImage(const ImageInfo& info, const ImageMetadata* metadata, const std::filesystem::path& file,
                Compression compression = Compression::none);

    [[nodiscard]] const std::filesystem::path& temporary_name() const { return file_.path(); }
    /// To be called when all have written and flushed. Throws Error; then nothing appears under the final name, as
    /// when it is not called at all. Compression is a second pass over the file, here: a compressed copy is written,
    /// read back and compared tile by tile, and takes the name.
    void commit();

  private:
    ImageInfo info_;
    const ImageMetadata* metadata_;
    std::filesystem::path name_;
    Compression compression_;
    AtomicFile file_;
};

/// Pixels into a PlacedImage. Each process has its own.
class PixelWriter {
  public:
    /// `temporary_name` is the PlacedImage's, `file` and `info` what it was made with. Throws Error when this process
    /// does not see it.
    PixelWriter(const std::filesystem::path& temporary_name, const ImageInfo& info, const std::filesystem::path& file);

    /// `pixels` (and `alpha`, where the file has it) of the rectangle whose first pixel is (row, column). No two calls
    /// of all processes may overlap. Throws Error with the reason (disk full, quota).
    void write(int64_t row, int64_t column, const PixelView& pixels, const PixelView& alpha = {});

    /// To the disk. Throws Error.
    void flush() { file_.flush(); }

  private:
    void write_rows(const Rect& part, const ImageToSave& image);
    void write_tiles(const Rect& part, const ImageToSave& image);

    PixelPlaces places_;
    PartFile file_;
    std::vector<std::byte> rows_;  // of one tile
};

/// `save_image`, compressed as told.
void save_image(const ImageToSave& image, const std::filesystem::path& file, Compression compression);

/// What was written so far, for reading, by the readers of any image: `temporary_name` or, when it is complete, `file`.
[[nodiscard]] std::unique_ptr<ImageFile> open_placed(const std::filesystem::path& name, const ImageInfo& info,
                                                     const std::filesystem::path& file);

}  // namespace pb
