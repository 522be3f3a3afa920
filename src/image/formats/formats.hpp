// The functions that each file format provides: to open a file for reading, which open_image calls, and to write an
// image, which save_image calls. And what formats share.
#pragma once

#include "base/atomic_file.hpp"
#include "image/formats/random_access.hpp"
#include "image/image_file.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pb::image {

/// Returns the extension in lower case, for example ".png".
[[nodiscard]] std::string extension_of(const std::filesystem::path& file);

/// Whether the extension of `file` is that of a TIFF.
[[nodiscard]] bool is_tiff(const std::filesystem::path& file);

/// Whether an ICC profile describes gray. WebP has colours only, and cannot hold such a profile.
[[nodiscard]] bool is_gray_profile(const std::vector<std::byte>& profile);

/// Bytes of a colour profile, an EXIF block and a packet of XMP that a JPEG holds. A marker also holds
/// "Exif\0\0" and the like. A profile may take 255 markers.
inline constexpr size_t kJpegMarkerBytes = 65533;
inline constexpr size_t kMostProfileInJpeg = 255 * (kJpegMarkerBytes - 14);
inline constexpr size_t kMostExifInJpeg = kJpegMarkerBytes - 6;
inline constexpr size_t kMostXmpInJpeg = kJpegMarkerBytes - 29;

/// The same of a PNG. Readers refuse a file with longer chunks: libpng those of more than 8,000,000 bytes unless it is
/// told otherwise, OpenCV also with their length, type and checksum. Compression may make a profile a little longer.
inline constexpr size_t kMostInPngChunk = 8'000'000 - 12;
inline constexpr size_t kMostProfileInPng = 7'990'000;
inline constexpr size_t kMostExifInPng = kMostInPngChunk;
inline constexpr size_t kMostXmpInPng = kMostInPngChunk - 22;

using OpenedFile = std::unique_ptr<RandomAccessFile>;

[[nodiscard]] std::unique_ptr<ImageFile> open_png(OpenedFile file);
[[nodiscard]] std::unique_ptr<ImageFile> open_jpeg(OpenedFile file);
[[nodiscard]] std::unique_ptr<ImageFile> open_tiff(OpenedFile file);
/// As open_tiff, for any number of pages: those with the numbers `pages`, or all when there are none.
[[nodiscard]] std::unique_ptr<ImageFile> open_tiff_stack(OpenedFile file, std::span<const int64_t> pages);
[[nodiscard]] std::unique_ptr<ImageFile> open_npy(OpenedFile file);
[[nodiscard]] std::unique_ptr<ImageFile> open_webp(OpenedFile file);
[[nodiscard]] std::unique_ptr<ImageFile> open_bmp(OpenedFile file);

/// These functions write the complete image to `file`; the caller commits it. The format must be able to hold the image
/// (save_image checks this).
void write_png(const ImageToSave& image, AtomicFile& file);
void write_jpeg(const ImageToSave& image, AtomicFile& file);
void write_webp(const ImageToSave& image, AtomicFile& file);
void write_bmp(const ImageToSave& image, AtomicFile& file);
void write_tiff(const ImageToSave& image, AtomicFile& file);
void write_npy(const ImageToSave& image, AtomicFile& file);
void write_raw(const ImageToSave& image, AtomicFile& file);

/// An image file of a format that can only be decoded as a whole (PNG, JPEG, WebP). The first read decodes it; every
/// read copies its part from the decoded image.
class DecodedFile final : public ImageFile {
  public:
    /// Decodes the whole file into an image that has alpha as its last channel. It is called at most once.
    using Decode = std::function<void(const RandomAccessFile&, Image&)>;

    DecodedFile(OpenedFile file, const ImageInfo& info, ImageMetadata metadata, Decode decode,
                bool has_lossy_colours = false)
        : ImageFile(info, std::move(metadata)),
          file_(std::move(file)),
          decode_(std::move(decode)),
          has_lossy_colours_(has_lossy_colours) {}
    [[nodiscard]] bool windowed() const override { return false; }
    [[nodiscard]] bool has_lossy_colours() const override { return has_lossy_colours_; }

  private:
    void read_channels(const Rect& part, int64_t first, MutablePixelView to) override {
        decode();
        copy_bands(image_.view().part(part), first, to.channels, to, 0);
    }

    void decode() {
        if (!image_.empty()) return;
        Image decoded(info_.extent, info_.stored_channels(), info_.dtype);
        decode_(*file_, decoded);
        image_ = std::move(decoded);
    }

    OpenedFile file_;
    Decode decode_;
    bool has_lossy_colours_;
    Image image_;
};

}  // namespace pb::image
