// Views of samples in memory that something else owns, described without any vendor type: a batch of windows, and the
// pixels of a rectangle (an image, a window of one, or the core of a window). And rows that travel between neighbours.
#pragma once

#include "patchbench/base/device_id.hpp"
#include "patchbench/base/shape.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace pb {

/// Distances between neighbours along each axis, in values.
struct Strides {
    int64_t n, c, h, w;
};

/// Those of dense memory.
[[nodiscard]] constexpr Strides strides_of(const Shape& shape, Layout layout) {
    const auto [n, c, h, w] = shape;
    return layout == Layout::channels_last ? Strides{h * w * c, 1, w * c, c} : Strides{c * h * w, h * w, w, 1};
}

/// Dense memory of `shape` in `layout` (channels_last: NHWC). `pointer` is host memory on the CPU, device memory on
/// CUDA.
struct BatchView {
    void* pointer = nullptr;
    Shape shape;
    DType dtype = DType::f32;
    Layout layout = Layout::channels_last;
    DeviceId device;
    [[nodiscard]] size_t bytes() const { return static_cast<size_t>(shape.elements()) * size_of(dtype); }
};

/// Rows of pixels, channels interleaved. `row_bytes`, from one row to the next, may exceed the width (a part of an
/// image).
template <class Byte>
struct BasicPixelView {
    Byte* pixels = nullptr;
    Extent extent;
    int64_t channels = 0;
    DType dtype = DType::u8;
    size_t row_bytes = 0;

    [[nodiscard]] size_t pixel_bytes() const { return static_cast<size_t>(channels) * size_of(dtype); }
    /// Of all rows.
    [[nodiscard]] size_t bytes() const { return static_cast<size_t>(extent.h) * row_bytes; }
    [[nodiscard]] Byte* row(int64_t y) const { return pixels + static_cast<size_t>(y) * row_bytes; }
    [[nodiscard]] Byte* at(int64_t y, int64_t x) const { return row(y) + static_cast<size_t>(x) * pixel_bytes(); }
    [[nodiscard]] BasicPixelView part(const Rect& rect) const {
        return {at(rect.row, rect.column), rect.extent, channels, dtype, row_bytes};
    }
    operator BasicPixelView<const Byte>() const  // NOLINT: what may be written may be read
        requires(!std::is_const_v<Byte>) {
        return {pixels, extent, channels, dtype, row_bytes};
    }
};
using PixelView = BasicPixelView<const std::byte>;
using MutablePixelView = BasicPixelView<std::byte>;

/// Rows that lie one after the other.
template <class Byte>
[[nodiscard]] BasicPixelView<Byte> dense_view(Byte* pixels, Extent extent, int64_t channels, DType dtype) {
    return {pixels, extent, channels, dtype, static_cast<size_t>(extent.w * channels) * size_of(dtype)};
}

/// The border rows of one map on one side of a slab, in memory of the host or of a device: own rows for the neighbour,
/// and room for rows of the neighbour. Both are empty where there is no neighbour.
struct BorderRows {
    std::span<const std::byte> sent;
    std::span<std::byte> received;
};

}  // namespace pb
