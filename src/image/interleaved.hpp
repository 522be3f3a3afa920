// Rows in which colour channels and alpha lie side by side, as files hold them, to and from images, which keep alpha
// apart.
#pragma once

#include "image/image_file.hpp"
#include "image/random_access.hpp"

#include <cstdint>
#include <vector>

namespace pb {

/// Part of an interleaved row: `count` pixels of `channels` samples each.
struct InterleavedRow {
    const std::byte* samples = nullptr;
    int64_t channels = 0;
    int64_t count = 0;
};

/// Copies channels [first, first + num_channels) of `row` to dense pixels at `to`.
void copy_channels(const InterleavedRow& row, size_t sample_bytes, int64_t first, int64_t num_channels, std::byte* to);

/// A decoded image with its alpha still among the channels; what decoders that must decode everything produce.
struct InterleavedImage {
    ImageInfo info;
    std::vector<std::byte> samples;
    [[nodiscard]] int64_t channels() const { return info.channels + (info.has_alpha ? 1 : 0); }
    [[nodiscard]] size_t row_bytes() const {
        return static_cast<size_t>(info.extent.w * channels()) * size_of(info.dtype);
    }
    [[nodiscard]] InterleavedRow row_part(int64_t y, int64_t x, int64_t count) const {
        const size_t pixel_bytes = static_cast<size_t>(channels()) * size_of(info.dtype);
        return {samples.data() + static_cast<size_t>(y) * row_bytes() + static_cast<size_t>(x) * pixel_bytes,
                channels(), count};
    }
};

[[nodiscard]] inline bool has_alpha(const ImageToSave& image) { return image.alpha.extent.pixels() > 0; }

/// Rows of an image to save with alpha put back among the channels.
class InterleavingRows {
  public:
    explicit InterleavingRows(const ImageToSave& image);
    [[nodiscard]] int64_t channels() const { return channels_; }
    [[nodiscard]] size_t row_bytes() const { return row_.size(); }
    /// Row y; valid until the next call.
    [[nodiscard]] const std::byte* row(int64_t y);

  private:
    const ImageToSave& image_;
    int64_t channels_;
    std::vector<std::byte> row_;
};

/// Throws Error unless `to` fits `part` of an image described by `info`, and `part` lies in the image.
void check_read(const ImageInfo& info, const Rect& part, const MutablePixelView& to);

/// Throws UsageError that names row, column and channel of the first NaN or infinity of a view of floats at `part` of
/// the file's image.
void refuse_not_finite(const RandomAccessFile& file, const Rect& part, const MutablePixelView& pixels);

}  // namespace pb
