// Samples of a file to the network's input and back: scale, layout, element type and noise-map channel in one pass, on
// the device (one kernel) or on the CPU (vectorised rows).
#pragma once

#include "patchbench/base/batch_view.hpp"
#include "patchbench/device/stream.hpp"

#include <optional>

namespace pb {

struct Conversion {
    /// Factor applied to [0,1] values on the way in and divided out on the way back (sigma_train / sigma for a network
    /// trained for one sigma); 1 otherwise.
    float gain = 1.0F;
    /// Value of the extra input channel, in [0,1] units; none: no extra channel.
    std::optional<float> sigma;
};

/// `samples`: NHWC u8 | u16 | f32 with c channels (integers are divided by full scale). `network`: f32 | bf16 | f16 in
/// its layout with c (+ 1) channels, same n, h, w, same device. In `stream`'s order.
void samples_to_network(const BatchView& samples, const BatchView& network, const Conversion& conversion,
                        Stream& stream);

/// The way back: integers are rounded to nearest (ties to even) and clipped, f32 is not clipped. NaN becomes 0 in
/// integers.
void network_to_samples(const BatchView& network, const BatchView& samples, const Conversion& conversion,
                        Stream& stream);

/// CPU, one row: `count` pixels of `channels` interleaved samples to interleaved f32 pixels of `channels` (+ 1) values.
/// What the pipeline's gather uses to convert while it cuts windows.
void convert_row_to_f32(const void* samples, DType dtype, int64_t count, int64_t channels, const Conversion& conversion,
                        float* network);

/// CPU, one row back: `count` f32 pixels of `channels` values to interleaved samples of `dtype`.
void convert_row_from_f32(const float* network, int64_t count, int64_t channels, const Conversion& conversion,
                          DType dtype, void* samples);

}  // namespace pb
