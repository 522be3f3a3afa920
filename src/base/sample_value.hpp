// A sample of an image as a number in [0,1], and back: the only place that knows scale, rounding, clipping and what
// becomes of NaN. Samples are uint8_t, uint16_t or float; floats stay as they are. CUDA kernels call these functions
// too. They are always inlined.
#pragma once

#include <cstdint>

namespace pb {

/// The sample that stands for 1.
template <class Sample>
inline constexpr float kFullScale = 1.0F;
template <>
inline constexpr float kFullScale<uint8_t> = 255.0F;
template <>
inline constexpr float kFullScale<uint16_t> = 65535.0F;

// Note [Exact division]: v / full_scale, rounded once, is v * head + v * tail, where head is 1 / full_scale cut to so
// few bits that v * head is exact. Only the sum is rounded to any effect (convert_test.cpp tries every v). A division
// would take five times as long.
template <class Sample>
struct Reciprocal {
    static constexpr int kSampleBits = 8 * sizeof(Sample);
    static constexpr double kExact = 1.0 / static_cast<double>(kFullScale<Sample>);
    static constexpr uint32_t kHeadBits =
        __builtin_bit_cast(uint32_t, static_cast<float>(kExact)) >> kSampleBits << kSampleBits;
    static constexpr float kHead = __builtin_bit_cast(float, kHeadBits);
    static constexpr float kTail = static_cast<float>(kExact - static_cast<double>(kHead));
};

/// sample / full scale, rounded to nearest.
template <class Sample>
[[gnu::always_inline]] inline constexpr float to_unit(Sample sample) {
    const auto value = static_cast<float>(sample);
    return value * Reciprocal<Sample>::kHead + value * Reciprocal<Sample>::kTail;
}
template <>
[[gnu::always_inline]] inline constexpr float to_unit(float sample) {
    return sample;
}

/// The sample next to value * full scale: ties go to the even one, what lies outside of [0,1] is clipped, NaN gives 0.
template <class Sample>
[[gnu::always_inline]] inline constexpr Sample from_unit(float value) {
    const float scaled = value * kFullScale<Sample>;
    const float positive = scaled > 0.0F ? scaled : 0.0F;  // false for NaN
    const float clipped = positive < kFullScale<Sample> ? positive : kFullScale<Sample>;
    // Note [Round by addition]: at 2^23 floats are 1 apart, so the addition rounds to nearest even and leaves the
    // integer in the low bits. Unlike a call of nearbyint it vectorises on every processor.
    return static_cast<Sample>(__builtin_bit_cast(uint32_t, clipped + 0x1p23F));
}
template <>
[[gnu::always_inline]] inline constexpr float from_unit(float value) {
    return value;
}

}  // namespace pb
