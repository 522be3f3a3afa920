// Image files: PNG, JPEG, WebP, BMP, TIFF (strips, tiles, BigTIFF), .npy and raw samples. The first bytes of a file
// identify its format; raw samples have no header, so the caller names them. TIFF, .npy, BMP and raw files can be read
// by rectangles: a rank reads only the part that it needs.
//
// Supported for reading:
// PNG: 8 and 16 bits, also interlaced. A palette is converted to RGB, a transparent colour to alpha.
// JPEG: 8 bits; gray, YCbCr or RGB.
// WebP: one frame, with or without loss, always RGB.
// BMP: uncompressed, 8 bits with a palette (gray where all its colours are), 24 and 32 bits.
// TIFF: unsigned integers of 8, 16 and 32 bits, signed integers of 16 bits, floats of 16, 32 and 64 bits; strips or
// tiles, interleaved or planar, any compression that libtiff supports. A palette is converted to RGB, white-is-zero is
// inverted, thumbnails and pyramid levels are skipped. With more than one extra channel, all channels are bands.
// Stacks: pages of one size and type, also those that ImageJ stores behind one directory. .npy: u1, u2, u4, i2, f2, f4
// or f8 in either byte order, shape (H,W) or (H,W,C). C = 1 is gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha; more
// channels are bands.
//
// Written: JPEG at quality 95 without chroma subsampling; WebP without loss (gray as three equal channels; alpha that
// is opaque everywhere is left out); BMP with 8, 24 or 32 bits (gray with alpha as three equal channels); TIFF
// uncompressed in strips (BigTIFF when the size requires it); .npy version 1 ((H,W) for one channel); raw as .npy
// without its header. lost_metadata() names the metadata that an output does not keep.
#pragma once

#include "image/image.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pb::image {

/// An entry of a TIFF directory. Its values are in the machine's byte order.
struct TiffTag {
    uint16_t number = 0;
    uint16_t type = 0;   // the number of TIFF's field type: 2 ASCII, 3 SHORT, 12 DOUBLE, ...
    uint32_t count = 0;  // number of values
    std::vector<std::byte> values;
};

/// The resolution tags of a TIFF. ImageJ stores pixels per micrometre without unit.
struct TiffResolution {
    float x = 0, y = 0;  // pixels per unit
    uint16_t unit = 0;   // the number of TIFF's ResolutionUnit: 1 none, 2 inch, 3 centimetre
};

/// Where a TIFF places its image, in the units of its resolution.
struct TiffPosition {
    float x = 0, y = 0;
};

/// A part of a file that only its own format can hold: a text chunk of PNG, a comment or Photoshop's block of JPEG.
struct FormatBlock {
    std::string_view extension;  // of the format: ".png", ".jpg"; all three are literals
    std::string_view type;       // "tEXt", "COM", ..
    std::string_view meaning;    // what is lost in another format, in words: "text"
    std::vector<std::byte> content;
};

/// The metadata of a file, copied from input to output where both formats can hold it. Pixels are never rotated: the
/// orientation remains a tag. TIFF keeps only the orientation of the EXIF block; reading a TIFF that is not upright
/// makes an EXIF block with that one entry. JPEG holds at most 65527 bytes of EXIF, 65504 of XMP and 16.7 MB of colour
/// profile; a PNG that other readers take holds 8 MB of each.
struct ImageMetadata {
    std::vector<std::byte> icc_profile;
    std::vector<std::byte> exif;  // the TIFF-structured block, without "Exif\0\0"
    std::optional<double> x_resolution_per_m;
    std::optional<double> y_resolution_per_m;
    std::optional<TiffResolution> tiff_resolution;  // a TIFF is written with this one if there is one
    bool tiff_big_endian = false;                   // byte order of the TIFF, in which ImageJ's own tags remain
    bool premultiplied_alpha = false;               // colours are multiplied by alpha, which only TIFF can store
    bool inverted = false;              // the file has white as zero: samples that are read are not those that it holds
    bool has_unnamed_channel = false;   // a TIFF does not say that its last channel is alpha; it is kept as alpha is
    std::vector<TiffTag> tiff_tags;     // tags that stay valid for another image of the same place, time and extent
    std::optional<double> nodata;       // GDAL_NODATA (also in tiff_tags): samples of this value are missing data
    uint16_t tiff_compression = 1;      // TIFF's number of the compression; 1: none
    std::vector<std::string> not_kept;  // metadata that is not stored here, in words: "pyramid of 3 levels"
    std::vector<std::byte> xmp;         // a packet of XMP (XML in UTF-8)
    std::vector<FormatBlock> format_blocks;
    std::optional<Extent> tiff_tile;            // pixels of a tile of the TIFF; none: it has strips
    std::optional<TiffPosition> tiff_position;  // of the image on a page or stage
};

/// An image file open for reading. Not thread-safe: each rank opens its own.
class ImageFile {
  public:
    virtual ~ImageFile() = default;
    [[nodiscard]] const ImageInfo& info() const { return info_; }
    [[nodiscard]] const ImageMetadata& metadata() const { return metadata_; }
    /// True when the cost of reading a rectangle is proportional to its area (.npy, BMP, raw, and TIFF except
    /// compressed blocks beyond 128 MiB). False when reading decodes the whole file.
    [[nodiscard]] virtual bool windowed() const { return true; }
    /// Reads the colour channels of `part` into `to`, which has the extent of `part` and the channels and dtype of
    /// info(). Throws Error with the place when the file is damaged or truncated. Throws Error that names row, column
    /// and channel when a float sample is NaN or infinite, unless keep_not_finite() was called.
    void read(const Rect& part, MutablePixelView to);
    /// The number of pages that can be read; 1 unless open_stack() opened the file. info(), metadata() and what is read
    /// are those of the current page, at first the first. All pages have equal ImageInfo.
    [[nodiscard]] virtual int64_t num_pages() const { return 1; }
    /// The number of the current page in the file, from 0.
    [[nodiscard]] virtual int64_t page_number() const { return 0; }
    /// Makes `page` the current one, 0 <= page < num_pages(). Throws Error when it is damaged.
    virtual void turn_to(int64_t /*page*/) {}
    /// Later calls of read() return NaN and infinite samples unchanged.
    void keep_not_finite() { keeps_not_finite_ = true; }
    /// Returns the alpha channel of `part` (1 channel, dtype of info()), or an empty image when the file has no alpha.
    [[nodiscard]] Image read_alpha(const Rect& part);
    [[nodiscard]] Image read_alpha() { return read_alpha({0, 0, info().extent}); }

  protected:
    explicit ImageFile(const ImageInfo& info = {}, ImageMetadata metadata = {})
        : info_(info), metadata_(std::move(metadata)) {}
    [[nodiscard]] bool keeps_not_finite() const { return keeps_not_finite_; }

    ImageInfo info_;          // of the current page
    ImageMetadata metadata_;  // of the current page

  private:
    /// Reads the colours (`first` is 0) or alpha (`first` is the number of colour channels) of `part`: as many channels
    /// as `to` has.
    virtual void read_channels(const Rect& part, int64_t first, MutablePixelView to) = 0;

    bool keeps_not_finite_ = false;
};

/// Opens a file; its content identifies the format. Throws UsageError when the file is missing, unreadable or empty,
/// when its format is not supported (the message names CMYK, more than one page or frame, and 1, 2 or 4-bit gray), and
/// when its header is wrong or states a size that the length of the file rules out.
[[nodiscard]] std::unique_ptr<ImageFile> open_image(const std::filesystem::path& file);

/// As open_image, but accepts a TIFF of several pages: those with the numbers `pages` (from 0) in this order, or all
/// when there are none. Throws UsageError also when a page is missing or not supported, and when pages differ in size
/// or type.
[[nodiscard]] std::unique_ptr<ImageFile> open_stack(const std::filesystem::path& file, std::span<const int64_t> pages);

/// Opens a file of raw samples: dense rows of interleaved little-endian samples without header or trailer, described by
/// `info`. Throws UsageError in the cases of open_image, and when the length of the file does not fit `info`.
[[nodiscard]] std::unique_ptr<ImageFile> open_raw_image(const std::filesystem::path& file, const ImageInfo& info);

/// An image and its metadata, ready to be written. `alpha` may be empty; otherwise it has one channel and the dtype of
/// `pixels`.
struct ImageToSave {
    PixelView pixels;
    PixelView alpha;
    const ImageMetadata* metadata = nullptr;
    bool has_channel_axis = false;  // see ImageInfo
};

/// Writes an image in the format of the extension (.png, .jpg/.jpeg, .webp, .bmp, .tif/.tiff, .npy, .raw). It writes to
/// a temporary name in the same folder, calls fsync and renames the file. On failure the temporary file is removed and
/// nothing appears under the final name. Throws UsageError when the extension is unknown or the format cannot hold the
/// type or alpha (JPEG: u8 without alpha; WebP, BMP: u8; PNG: u8, u16), and Error when writing fails.
void save_image(const ImageToSave& image, const std::filesystem::path& file);

/// Lists the parts of `metadata` that `file` cannot hold, in words for one line ("GeoTIFF tags (PNG holds none)",
/// "pyramid of 3 levels"). The list is empty when nothing is lost. `placed`: the file is written as a PlacedImage,
/// which is not compressed unless the caller asks for it.
[[nodiscard]] std::vector<std::string> lost_metadata(const ImageMetadata& metadata, const std::filesystem::path& file,
                                                     bool placed);

/// How the image is to be shown: the orientation of EXIF and TIFF, 1 to 8; 1 (upright) where there is none.
[[nodiscard]] int orientation_of(const ImageMetadata& metadata);

/// Returns the metadata of a file that has one image: without the tags that ImageJ gives to stacks.
[[nodiscard]] ImageMetadata metadata_of_image(ImageMetadata metadata);

/// Returns the metadata for some pages of a stack: without the tags that describe the whole stack.
[[nodiscard]] ImageMetadata metadata_of_pages(ImageMetadata metadata);

/// Returns the metadata for a part of the image that `metadata` describes: without the tags that state its place or
/// extent.
[[nodiscard]] ImageMetadata metadata_of_part(ImageMetadata metadata);

/// True when a file of this name stores its samples with loss (JPEG).
[[nodiscard]] bool is_lossy(const std::filesystem::path& file);
/// Whether the extension is that of a format which names itself: not that of raw samples.
[[nodiscard]] bool is_image_name(const std::filesystem::path& file);

/// Checks before the work begins that an image can be saved. Throws UsageError when `save_image` would refuse `info`
/// under this name, and when the folder does not exist or cannot be written.
void check_can_save(const ImageInfo& info, const std::filesystem::path& file);

}  // namespace pb::image
