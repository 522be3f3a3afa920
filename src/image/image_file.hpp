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
#include "image/image_metadata.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

namespace pb::image {

/// An image file open for reading. Not thread-safe: each rank opens its own.
class ImageFile {
  public:
    virtual ~ImageFile() = default;
    [[nodiscard]] const ImageInfo& info() const { return info_; }
    [[nodiscard]] const ImageMetadata& metadata() const { return metadata_; }
    /// True when the cost of reading a rectangle is proportional to its area (.npy, BMP, raw, and TIFF except
    /// compressed blocks beyond 128 MiB). False when reading decodes the whole file.
    [[nodiscard]] virtual bool windowed() const { return true; }
    /// Whether the format has lost part of the colours, more than of brightness: JPEG and lossy WebP, which mostly keep
    /// them at half the resolution.
    [[nodiscard]] virtual bool has_lossy_colours() const { return false; }
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
    /// Later calls of read_alpha() throw as read() does where a sample is NaN or infinite: alpha is a band as the
    /// others are.
    void take_alpha_as_band() { alpha_is_band_ = true; }
    /// Returns the alpha channel of `part` (1 channel, dtype of info()), or an empty image when the file has no alpha.
    [[nodiscard]] Image read_alpha(const Rect& part);
    [[nodiscard]] Image read_alpha() { return read_alpha({0, 0, info().extent}); }

  protected:
    explicit ImageFile(const ImageInfo& info = {}, ImageMetadata metadata = {})
        : info_(info), metadata_(std::move(metadata)) {}
    /// Whether NaN and infinity are refused in the channels that read_channels() reads from `first` on.
    [[nodiscard]] bool must_be_finite(int64_t first) const {
        return !keeps_not_finite_ && (first == 0 || alpha_is_band_);
    }

    ImageInfo info_;          // of the current page
    ImageMetadata metadata_;  // of the current page

  private:
    /// Reads the colours (`first` is 0) or alpha (`first` is the number of colour channels) of `part`: as many channels
    /// as `to` has.
    virtual void read_channels(const Rect& part, int64_t first, MutablePixelView to) = 0;

    bool keeps_not_finite_ = false;
    bool alpha_is_band_ = false;
};

/// Opens a file; its content identifies the format. Throws UsageError when the file is missing, unreadable or empty,
/// when its format is not supported (the message names CMYK, more than one page or frame, and 1, 2 or 4-bit gray), and
/// when its header is wrong or states a size that the length of the file rules out.
[[nodiscard]] std::unique_ptr<ImageFile> open_image(const std::filesystem::path& file);

/// As open_image, but accepts a TIFF of several pages: those with the numbers `pages` (from 0) in this order, or all
/// when there are none. Throws UsageError also when a page is missing or not supported, and when pages differ in size
/// or type.
[[nodiscard]] std::unique_ptr<ImageFile> open_stack(const std::filesystem::path& file, std::span<const int64_t> pages);

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

/// True when a file of this name stores its samples with loss (JPEG).
[[nodiscard]] bool is_lossy(const std::filesystem::path& file);
/// Whether the extension is that of a format which names itself: not that of raw samples.
[[nodiscard]] bool is_image_name(const std::filesystem::path& file);

/// Throws UsageError when `save_image` would refuse `info` under this name, whatever the folder is.
void check_can_hold(const ImageInfo& info, const std::filesystem::path& file);

/// The same for what an image with alpha says of it: PNG, WebP and BMP cannot hold colours that are multiplied by
/// alpha.
void check_can_hold_alpha(const ImageMetadata& metadata, const std::filesystem::path& file);

/// Checks before the work begins that an image can be saved. Throws as check_can_hold, and when the folder does not
/// exist or cannot be written.
void check_can_save(const ImageInfo& info, const std::filesystem::path& file);

}  // namespace pb::image
