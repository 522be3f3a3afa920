// Image files: PNG, JPEG, TIFF (strips, tiles, BigTIFF), .npy and raw samples. The format is told by the first bytes,
// but for raw samples, which say nothing. TIFF, .npy and raw are read by rectangles: a rank that needs a part reads
// that part.
//
// PNG: 8 and 16 bits, interlaced too; palettes become RGB and a transparent colour becomes alpha. JPEG: 8 bits, gray,
// YCbCr or RGB. TIFF: 8, 16, 32 bits, 16 bits signed, 16, 32 and 64-bit float; strips or tiles, interleaved or in
// planes, any compression of libtiff; palettes become RGB, white-is-zero is inverted; thumbnails and pyramid levels are
// passed over; more than one extra channel makes all of them bands. .npy: u1, u2, u4, i2, f2, f4 or f8 of either byte
// order, (H,W) or (H,W,C): C 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha, more are bands. Written: JPEG at
// quality 95 without subsampling, TIFF uncompressed in strips (BigTIFF when it must be), .npy version 1
// ((H,W) for one channel), raw as .npy without its header. What is not kept of a file's metadata is named
// (lost_metadata).
#pragma once

#include "image/image.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pb {

/// An entry of a TIFF's directory, its values in the machine's byte order.
struct TiffTag {
    uint16_t number = 0;
    uint16_t type = 0;   // TIFF's own: 2 ASCII, 3 SHORT, 12 DOUBLE ..
    uint32_t count = 0;  // of values
    std::vector<std::byte> values;
};

/// What a file says beside its pixels, kept from input to output where both formats can hold it. Pixels are never
/// rotated: the orientation stays a tag. TIFF holds the orientation of the EXIF block, not its other entries, and gives
/// a block of that one entry when it is not upright. JPEG holds EXIF of up to 65527 bytes.
struct ImageMetadata {
    std::vector<std::byte> icc_profile;
    std::vector<std::byte> exif;  // the TIFF-structured block, without "Exif\0\0"
    std::optional<double> x_resolution_per_m;
    std::optional<double> y_resolution_per_m;
    bool premultiplied_alpha = false;   // colours multiplied by alpha (TIFF); PNG refuses to hold them
    std::vector<TiffTag> tiff_tags;     // those that hold for another image of the same place, time and extent
    std::optional<double> nodata;       // GDAL_NODATA, which is among tiff_tags: samples of this value are none
    uint16_t tiff_compression = 1;      // TIFF's number; 1: none
    std::vector<std::string> not_kept;  // what the file has beside all this, in words: "pyramid of 3 levels"
};

/// An image file open for reading. Not thread-safe: each rank opens its own.
class ImageFile {
  public:
    virtual ~ImageFile() = default;
    [[nodiscard]] virtual const ImageInfo& info() const = 0;
    [[nodiscard]] virtual const ImageMetadata& metadata() const = 0;
    /// True when reading a rectangle costs about the rectangle (.npy, raw; TIFF but for compressed blocks beyond
    /// 128 MiB), false when it decodes the whole file.
    [[nodiscard]] virtual bool windowed() const = 0;
    /// Colour channels of `part` into `to` (extent of `part`, channels and dtype of info()). Throws Error with the
    /// place when the file is damaged or truncated, or when a float sample is NaN or infinite (names row, column,
    /// channel) and keep_not_finite() was not called.
    virtual void read(const Rect& part, MutablePixelView to) = 0;
    /// From now on such samples are read as they are.
    void keep_not_finite() { keeps_not_finite_ = true; }
    /// Alpha channel of `part` (1 channel, dtype of info()); an empty image when there is none.
    [[nodiscard]] virtual Image read_alpha(const Rect& part) = 0;
    [[nodiscard]] Image read_alpha() { return read_alpha({0, 0, info().extent}); }

  protected:
    [[nodiscard]] bool keeps_not_finite() const { return keeps_not_finite_; }

  private:
    bool keeps_not_finite_ = false;
};

/// Opens by content. Throws UsageError: no such file, unreadable, zero-sized, unsupported (CMYK, more than one page or
/// frame, 1/2/4-bit gray are named), lying header, or too large to be true for the file's
/// length.
[[nodiscard]] std::unique_ptr<ImageFile> open_image(const std::filesystem::path& file);

/// Dense rows of interleaved little-endian samples, nothing before and nothing after them; `info` says what they are.
/// Throws UsageError as open_image, and when the file has another length.
[[nodiscard]] std::unique_ptr<ImageFile> open_raw_image(const std::filesystem::path& file, const ImageInfo& info);

/// The whole image.
[[nodiscard]] Image load_image(const std::filesystem::path& file);

/// Everything that is written to a file. `alpha` may be empty; it has one channel and the dtype of `pixels`.
struct ImageToSave {
    PixelView pixels;
    PixelView alpha;
    const ImageMetadata* metadata = nullptr;
    bool has_channel_axis = false;  // as ImageInfo's
};

/// Writes by extension (.png, .jpg/.jpeg, .tif/.tiff, .npy, .raw): to a temporary name in the same folder, fsync,
/// rename; on any failure the temporary file is removed and nothing appears under the final name. Throws UsageError
/// when the extension is unknown or the format cannot hold the type or alpha (JPEG: u8 without alpha; PNG: u8, u16),
/// Error when writing fails.
void save_image(const ImageToSave& image, const std::filesystem::path& file);

/// What `file` will not hold of `metadata`, in words for one line ("GeoTIFF tags (PNG holds none), pyramid of 3
/// levels"); empty where nothing is lost. `placed`: written as a PlacedImage, which does not compress by itself.
[[nodiscard]] std::vector<std::string> lost_metadata(const ImageMetadata& metadata, const std::filesystem::path& file,
                                                     bool placed);

/// Of a part of the image that `metadata` describes: tags that tell its place or extent are no longer kept.
[[nodiscard]] ImageMetadata metadata_of_part(ImageMetadata metadata);

/// Whether a file of this name would hold its samples with losses (JPEG).
[[nodiscard]] bool is_lossy(const std::filesystem::path& file);

/// Throws UsageError now, before hours of work, when `save_image` would refuse `info` under this name or the folder
/// does not exist or cannot be written.
void check_can_save(const ImageInfo& info, const std::filesystem::path& file);

}  // namespace pb
