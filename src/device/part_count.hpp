// How many values of a network's output are not finite, counted where they are, before they become integers, which
// cannot say so.
#pragma once

#include "patchbench/base/views.hpp"
#include "patchbench/device/stream.hpp"

#include <cstdint>

namespace pb::device {

/// A part of an image of a batch, in pixels of that image, and how many of its values are not finite.
struct PartCount {
    Rect part;
    uint32_t not_finite = 0;
};

/// Adds what is not finite in the first `num_counts` parts to their counts. `network`: f32 | bf16 | f16 in its layout.
/// Part i is of image i; in a batch of one image all parts are of that image. `counts`: memory of the stream's device,
/// where `network` is, too. In `stream`'s order.
void count_not_finite(const BatchView& network, PartCount* counts, int64_t num_counts, Stream& stream);

// Where the values of a part lie and which are not finite: what the CPU and the kernel (cuda/part_count.cu) share.

/// Values as bits: uint32_t for f32, uint16_t for bf16 and f16. The strides are in values.
template <class Bits>
struct PartValues {
    int64_t channels, image_stride, row_stride, pixel_stride, channel_stride;
    Bits exponent;  // its bits are all set where a value is infinite or not a number

    explicit PartValues(const BatchView& network) : channels(network.shape.c), exponent(exponent_of(network.dtype)) {
        const Strides strides = strides_of(network.shape, network.layout);
        image_stride = network.shape.n == 1 ? 0 : strides.n;
        row_stride = strides.h;
        pixel_stride = strides.w;
        channel_stride = strides.c;
    }

    /// Counts the values of one pixel. The pixels of a part are numbered row by row.
    [[nodiscard]] constexpr uint32_t count_not_finite(const Bits* values, int64_t image, const Rect& part,
                                                      int64_t pixel) const {
        const int64_t row = part.row + pixel / part.extent.w, column = part.column + pixel % part.extent.w;
        const Bits* const first = values + image * image_stride + row * row_stride + column * pixel_stride;
        uint32_t count = 0;
        for (int64_t c = 0; c < channels; ++c) count += (first[c * channel_stride] & exponent) == exponent ? 1 : 0;
        return count;
    }

  private:
    static Bits exponent_of(DType dtype) {
        if (dtype == DType::f32) return static_cast<Bits>(0x7F800000);
        return static_cast<Bits>(dtype == DType::bf16 ? 0x7F80 : 0x7C00);
    }
};

/// Calls `visit` with the values of `network` as bits.
template <class Visit>
void with_bits(const BatchView& network, const Visit& visit) {
    if (network.dtype == DType::f32)
        visit(static_cast<const uint32_t*>(network.pointer));
    else
        visit(static_cast<const uint16_t*>(network.pointer));
}

}  // namespace pb::device
