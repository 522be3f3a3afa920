// Images in host memory: dense rows, channels interleaved (HWC), samples in the file's own type.
#pragma once

#include "patchbench/base/shape.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace pb {

/// What an image is, without its pixels. `channels` counts colour channels only (1 gray, 3 RGB; of a file also more,
/// its bands), never alpha.
struct ImageInfo {
    Extent extent;
    int64_t channels = 0;
    DType dtype = DType::u8;  // u8 | u16 | f32; of a file also i16, u32, f16, f64 (sample_map.hpp makes f32 of them)
    bool has_alpha = false;
    bool has_channel_axis = false;  // .npy with one channel: (H,W,1), not (H,W)
    [[nodiscard]] size_t pixel_bytes() const { return static_cast<size_t>(channels) * size_of(dtype); }
    [[nodiscard]] size_t bytes() const { return static_cast<size_t>(extent.pixels()) * pixel_bytes(); }
};

/// Pixels of a rectangle of an image; owns no memory. `row_bytes` may exceed the width (a view of a part).
template <class Byte>
struct BasicImageView {
    Byte* pixels = nullptr;
    Extent extent;
    int64_t channels = 0;
    DType dtype = DType::u8;
    size_t row_bytes = 0;
    [[nodiscard]] Byte* row(int64_t y) const { return pixels + static_cast<size_t>(y) * row_bytes; }
    [[nodiscard]] size_t pixel_bytes() const { return static_cast<size_t>(channels) * size_of(dtype); }
    operator BasicImageView<const Byte>() const  // NOLINT: what may be written may be read
        requires(!std::is_const_v<Byte>) {
        return {pixels, extent, channels, dtype, row_bytes};
    }
};
using ImageView = BasicImageView<const std::byte>;
using MutableImageView = BasicImageView<std::byte>;

/// An image that owns its pixels (dense rows).
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
    [[nodiscard]] size_t row_bytes() const { return static_cast<size_t>(extent_.w * channels_) * size_of(dtype_); }
    [[nodiscard]] ImageView view() const { return {pixels_.data(), extent_, channels_, dtype_, row_bytes()}; }
    [[nodiscard]] MutableImageView view() { return {pixels_.data(), extent_, channels_, dtype_, row_bytes()}; }

  private:
    Extent extent_;
    int64_t channels_ = 0;
    DType dtype_ = DType::u8;
    std::vector<std::byte> pixels_;
};

/// Channels [first, first + count) of `from` to those of `to` from `to_first` on. Extents and types equal.
void copy_bands(const ImageView& from, int64_t first, int64_t count, MutableImageView to, int64_t to_first);

/// Copies and converts samples to f32: integers divided by full scale, floats as they are. Extents and channels equal.
void to_float(const ImageView& from, MutableImageView to);

/// Copies and converts f32 samples to `to.dtype`: integers rounded to nearest (ties to even) and clipped,
/// NaN to 0; floats as they are.
void from_float(const ImageView& from, MutableImageView to);

}  // namespace pb
