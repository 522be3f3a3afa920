// A batch of windows somewhere in memory, described without any vendor type. It owns nothing.
#pragma once

#include "patchbench/base/device_id.hpp"
#include "patchbench/base/shape.hpp"

#include <cstddef>
#include <cstdint>

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

}  // namespace pb
