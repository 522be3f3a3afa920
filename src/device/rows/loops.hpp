// The loops of kernels.hpp in plain C++, to be included by one source file for each instruction set, which the
// compiler then vectorises with that set. Everything has internal linkage or is always inlined, and nothing of the
// standard library is called: a function that the linker could share would carry one file's instructions into the
// others.
#pragma once

#include "base/sample_value.hpp"
#include "device/rows/kernels.hpp"

namespace pb::device {
namespace {

template <int64_t kChannels, class Sample>
void add_channel(const Sample* __restrict samples, int64_t count, const RowScale& scale, float* __restrict network) {
    const float gain = scale.gain;
    const float sigma = scale.sigma;
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t c = 0; c < kChannels; ++c)
            network[i * (kChannels + 1) + c] = to_unit(samples[i * kChannels + c]) * gain;
        network[i * (kChannels + 1) + kChannels] = sigma;
    }
}

template <class Sample>
void row_to_f32(const Sample* __restrict samples, int64_t count, int64_t channels, const RowScale& scale,
                float* __restrict network) {
    if (scale.extra_channel && channels == 3) return add_channel<3>(samples, count, scale, network);
    if (scale.extra_channel && channels == 1) return add_channel<1>(samples, count, scale, network);
    const float gain = scale.gain;
    if (!scale.extra_channel) {
        for (int64_t i = 0; i < count * channels; ++i) network[i] = to_unit(samples[i]) * gain;
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t c = 0; c < channels; ++c) *network++ = to_unit(*samples++) * gain;
        *network++ = scale.sigma;
    }
}

template <class Sample>
void row_from_f32(const float* __restrict network, int64_t values, float inverse_gain, Sample* __restrict samples) {
    for (int64_t i = 0; i < values; ++i) {
        const float value = network[i] * inverse_gain;
        samples[i] = from_unit<Sample>(value);
    }
}

constexpr RowKernels kLoops{row_to_f32<uint8_t>,   row_to_f32<uint16_t>,   row_to_f32<float>,
                            row_from_f32<uint8_t>, row_from_f32<uint16_t>, row_from_f32<float>};

}  // namespace
}  // namespace pb::device
