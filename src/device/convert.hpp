// Samples of a file to the network's input and back: scale, layout, element type and noise-map channel in one pass, on
// the device (one kernel) or on the CPU (vectorised rows). Every variant gives the same bits:
//   in:   x = fl(fl(sample / full_scale) * gain)       fl: rounded to f32, nearest even; the division is the exact one
//   back: sample = round(clip(fl(fl(x * fl(1 / gain)) * full_scale)))
// full_scale is 255, 65535 or, for f32 samples, 1. The round trip of integers is the identity.
#pragma once

#include "patchbench/base/views.hpp"
#include "patchbench/device/stream.hpp"

#include <optional>

namespace pb::device {

struct Conversion {
    /// Factor applied to [0,1] values on the way in and divided out on the way back (sigma_train / sigma for a network
    /// trained for one sigma); 1 otherwise.
    float gain = 1.0F;
    /// Value of the extra input channel, in [0,1] units, written as it is (no gain); none: no extra channel.
    std::optional<float> sigma;
};

/// `samples`: NHWC u8 | u16 | f32 with c channels (integers are divided by full scale). `network`: f32 | bf16 | f16 in
/// its layout with c (+ 1) channels, same n, h, w, on the stream's device; on CUDA c is 1 or 3 and buffers
/// are aligned to 16 bytes. In `stream`'s order.
void samples_to_network(const BatchView& samples, const BatchView& network, const Conversion& conversion,
                        Stream& stream);

/// The way back: integers are rounded to nearest (ties to even) and clipped, f32 is not clipped. NaN becomes 0 in
/// integers.
void network_to_samples(const BatchView& network, const BatchView& samples, const Conversion& conversion,
                        Stream& stream);

/// CPU, one row: `count` pixels of `channels` interleaved samples to interleaved f32 pixels of `channels` (+ 1) values.
void convert_row_to_f32(const void* samples, DType dtype, int64_t count, int64_t channels, const Conversion& conversion,
                        float* network);

/// CPU, one row back: `count` f32 pixels of `channels` values to interleaved samples of `dtype`.
void convert_row_from_f32(const float* network, int64_t count, int64_t channels, const Conversion& conversion,
                          DType dtype, void* samples);

/// CPU, a window: `convert_row_to_f32` row by row, `network_stride` f32 apart. What the gather of windows uses; faster
/// than single rows, since the next row is fetched meanwhile.
void convert_rows_to_f32(const PixelView& samples, const Conversion& conversion, float* network,
                         int64_t network_stride);

/// CPU, a core back into the image: what the scatter uses.
void convert_rows_from_f32(const float* network, int64_t network_stride, const Conversion& conversion,
                           const MutablePixelView& samples);

}  // namespace pb::device
