// Images in host memory: dense rows, interleaved channels (HWC), samples in the type of the file.
#pragma once

#include "patchbench/base/views.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pb::image {

/// The properties of an image without its pixels. `channels` counts the colour channels, never alpha: 1 (gray) or 3
/// (RGB). An image file may have more channels (bands).
struct ImageInfo {
    Extent extent;
    int64_t channels = 0;
    DType dtype = DType::u8;  // u8 | u16 | f32; files also i16, u32, f16, f64 (sample_map.hpp converts these to f32)
    bool has_alpha = false;
    bool has_channel_axis = false;  // .npy with one channel: true for (H,W,1), false for (H,W)
    [[nodiscard]] size_t pixel_bytes() const { return static_cast<size_t>(channels) * size_of(dtype); }
    /// As files store them, with alpha.
    [[nodiscard]] int64_t stored_channels() const { return channels + (has_alpha ? 1 : 0); }
    [[nodiscard]] size_t stored_pixel_bytes() const { return static_cast<size_t>(stored_channels()) * size_of(dtype); }
    [[nodiscard]] size_t bytes() const { return static_cast<size_t>(extent.pixels()) * pixel_bytes(); }
    friend bool operator==(const ImageInfo&, const ImageInfo&) = default;
};

/// An image that owns its pixels.
class Image {
  public:
    Image() = default;
    Image(Extent extent, int64_t channels, DType dtype)
        : extent_(extent),
          channels_(channels),
          dtype_(dtype),
          pixels_(static_cast<size_t>(extent.pixels() * channels) * size_of(dtype)) {}

    [[nodiscard]] Extent extent() const { return extent_; }
    [[nodiscard]] int64_t channels() const { return channels_; }
    [[nodiscard]] DType dtype() const { return dtype_; }
    [[nodiscard]] bool empty() const { return pixels_.empty(); }
    [[nodiscard]] int64_t num_samples() const { return extent_.pixels() * channels_; }
    [[nodiscard]] std::span<std::byte> bytes() { return pixels_; }
    [[nodiscard]] std::span<const std::byte> bytes() const { return pixels_; }
    template <class T>
    [[nodiscard]] T* as() {
        return reinterpret_cast<T*>(pixels_.data());
    }
    template <class T>
    [[nodiscard]] const T* as() const {
        return reinterpret_cast<const T*>(pixels_.data());
    }
    [[nodiscard]] size_t row_bytes() const { return view().row_bytes; }
    [[nodiscard]] PixelView view() const { return dense_view(pixels_.data(), extent_, channels_, dtype_); }
    [[nodiscard]] MutablePixelView view() { return dense_view(pixels_.data(), extent_, channels_, dtype_); }

  private:
    Extent extent_;
    int64_t channels_ = 0;
    DType dtype_ = DType::u8;
    std::vector<std::byte> pixels_;
};

/// The samples of row `y` of an f32 image.
[[nodiscard]] inline std::span<const float> floats_in(const PixelView& image, int64_t y) {
    return {reinterpret_cast<const float*>(image.row(y)), static_cast<size_t>(image.extent.w * image.channels)};
}

/// Copies channels [first, first + count) of `from` to the channels of `to` that begin at `to_first`. Extents and types
/// must be equal.
void copy_bands(const PixelView& from, int64_t first, int64_t count, MutablePixelView to, int64_t to_first);

/// Copies samples and converts them to f32: integers are divided by full scale, floats are unchanged. Extents and
/// channels must be equal.
void to_float(const PixelView& from, MutablePixelView to);

/// Copies f32 samples and converts them to `to.dtype`. Integers are rounded to nearest (ties to even) and clipped, and
/// NaN becomes 0. Floats are unchanged.
void from_float(const PixelView& from, MutablePixelView to);

}  // namespace pb::image
