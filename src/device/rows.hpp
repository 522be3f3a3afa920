// The loops behind convert_row_*: compiled for several instruction sets, one of which is chosen. All give the same bits
// (see convert.hpp for the definition).
#pragma once

#include <cstdint>
#include <tuple>

namespace pb::device {

/// To f32: `gain` scales; `sigma` is the value of an extra channel after each pixel's, where there is one.
struct RowScale {
    float gain;
    float sigma;
    bool extra_channel;
};

template <class Sample>
struct RowKernels {
    void (*to_f32)(const Sample*, int64_t count, int64_t channels, const RowScale&, float*);
    /// `values` interleaved values, each times `inverse_gain`.
    void (*from_f32)(const float*, int64_t values, float inverse_gain, Sample*);
};

using AllRowKernels = std::tuple<RowKernels<uint8_t>, RowKernels<uint16_t>, RowKernels<float>>;

/// The fastest loops that this processor runs.
[[nodiscard]] AllRowKernels find_row_kernels();

}  // namespace pb::device
