// Image files: PNG, JPEG, TIFF (strips, tiles, BigTIFF) and .npy. The format is told by the first bytes. TIFF and .npy
// are read by rectangles: a rank that needs a part reads that part.
#pragma once

#include "patchbench/image/image.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace pb {

/// What a file says beside its pixels, kept from input to output where both formats can hold it.
struct ImageMetadata {
    std::vector<std::byte> icc_profile;
    std::vector<std::byte> exif;  // the TIFF-structured block, without "Exif\0\0"
    std::optional<double> x_resolution_per_m;
    std::optional<double> y_resolution_per_m;
};

/// An image file open for reading. Not thread-safe: each rank opens its own.
class ImageFile {
  public:
    virtual ~ImageFile() = default;
    [[nodiscard]] virtual const ImageInfo& info() const = 0;
    [[nodiscard]] virtual const ImageMetadata& metadata() const = 0;
    /// True when reading a rectangle costs about the rectangle (TIFF, .npy), false when it decodes the whole file.
    [[nodiscard]] virtual bool windowed() const = 0;
    /// Colour channels of `part` into `to` (extent of `part`, channels and dtype of info()). Throws Error with the
    /// place when the file is damaged or truncated, or when a float sample is NaN (names row, column, channel).
    virtual void read(const Rect& part, MutableImageView to) = 0;
    /// Alpha channel of the whole image (1 channel, dtype of info()); an empty image when there is none.
    [[nodiscard]] virtual Image read_alpha() = 0;
};

/// Opens by content. Throws UsageError: no such file, unreadable, zero-sized, unsupported (palette is expanded; CMYK,
/// more than one page, 1/2/4-bit samples are named), lying header, or too large to be true for the file's length.
[[nodiscard]] std::unique_ptr<ImageFile> open_image(const std::filesystem::path& file);

/// The whole image.
[[nodiscard]] Image load_image(const std::filesystem::path& file);

/// Everything that is written to a file. `alpha` may be empty; it has one channel and the dtype of `pixels`.
struct ImageToSave {
    ImageView pixels;
    ImageView alpha;
    const ImageMetadata* metadata = nullptr;
};

/// Writes by extension (.png, .jpg/.jpeg, .tif/.tiff, .npy): to a temporary name in the same folder, fsync, rename; on
/// any failure the temporary file is removed and nothing appears under the final name. Throws UsageError when the
/// extension is unknown or the format cannot hold the type or alpha (JPEG: u8 without alpha; PNG: u8, u16), Error when
/// writing fails.
void save_image(const ImageToSave& image, const std::filesystem::path& file);

/// Throws UsageError now, before hours of work, when `save_image` would refuse `info` under this name or the folder
/// does not exist or cannot be written.
void check_can_save(const ImageInfo& info, const std::filesystem::path& file);

}  // namespace pb
