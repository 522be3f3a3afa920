// The loops of row_kernels.hpp in plain C++, to be included by one source file for each instruction set, which the
// compiler then vectorises with that set. Everything has internal linkage, and nothing of the standard library is
// called: a function that the linker could share would carry one file's instructions into the others.
#pragma once

#include "device/row_kernels.hpp"

namespace pb {
namespace {

// Note [Exact division]: v / full_scale, rounded once, is v * head + v * tail, where head is 1 / full_scale cut to so
// few bits that v * head is exact. Only the sum is rounded to any effect (convert_test.cpp tries every v). A division
// would take five times as long.
template <class Sample>
struct Reciprocal;

consteval float cut(double value, uint32_t mask) {
    return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, static_cast<float>(value)) & mask);
}

template <>
struct Reciprocal<uint8_t> {  // 8 + 16 bits
    static constexpr float kHead = cut(1.0 / 255.0, 0xFFFFFF00U);
    static constexpr float kTail = static_cast<float>(1.0 / 255.0 - static_cast<double>(kHead));
};
template <>
struct Reciprocal<uint16_t> {  // 16 + 8 bits
    static constexpr float kHead = cut(1.0 / 65535.0, 0xFFFF0000U);
    static constexpr float kTail = static_cast<float>(1.0 / 65535.0 - static_cast<double>(kHead));
};

template <class Sample>
inline float to_f32(Sample sample, float gain) {
    const auto value = static_cast<float>(sample);
    return (value * Reciprocal<Sample>::kHead + value * Reciprocal<Sample>::kTail) * gain;
}
inline float to_f32(float sample, float gain) { return sample * gain; }

// Note [Round by addition]: 2^23 + y has a unit in the last place of 1, so the addition rounds y (at most 65535) to
// nearest even and leaves it in the low bits. The comparison sends NaN to 0.
inline uint32_t round_clipped(float value, float full_scale) {
    const float scaled = value * full_scale;
    const float positive = scaled > 0.0F ? scaled : 0.0F;
    const float clipped = positive < full_scale ? positive : full_scale;
    return __builtin_bit_cast(uint32_t, clipped + 8388608.0F);
}
inline void from_f32(float value, float inverse_gain, uint8_t& sample) {
    sample = static_cast<uint8_t>(round_clipped(value * inverse_gain, 255.0F));
}
inline void from_f32(float value, float inverse_gain, uint16_t& sample) {
    sample = static_cast<uint16_t>(round_clipped(value * inverse_gain, 65535.0F));
}
inline void from_f32(float value, float inverse_gain, float& sample) { sample = value * inverse_gain; }

template <int64_t kChannels, class Sample>
void add_channel(const Sample* __restrict samples, int64_t count, const RowScale& scale, float* __restrict network) {
    const float gain = scale.gain;
    const float sigma = scale.sigma;
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t c = 0; c < kChannels; ++c)
            network[i * (kChannels + 1) + c] = to_f32(samples[i * kChannels + c], gain);
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
        for (int64_t i = 0; i < count * channels; ++i) network[i] = to_f32(samples[i], gain);
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t c = 0; c < channels; ++c) *network++ = to_f32(*samples++, gain);
        *network++ = scale.sigma;
    }
}

template <class Sample>
void row_from_f32(const float* __restrict network, int64_t values, float inverse_gain, Sample* __restrict samples) {
    for (int64_t i = 0; i < values; ++i) from_f32(network[i], inverse_gain, samples[i]);
}

constexpr RowKernels kLoops{row_to_f32<uint8_t>,   row_to_f32<uint16_t>,   row_to_f32<float>,
                            row_from_f32<uint8_t>, row_from_f32<uint16_t>, row_from_f32<float>};

}  // namespace
}  // namespace pb
