// Random numbers by position, and elementary functions, that give the same bits on every machine.
#pragma once

#include "base/counter_random.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace pb::image {

/// What the random numbers of the positions in an infinite image are used for.
enum class RandomStream : uint32_t { noise = 0, shading = 1, leaves = 2 };

/// Returns the random block of a position: its two coordinates (below 2^32 in magnitude, beyond which they wrap), a
/// stream and an index in the stream.
inline std::array<uint32_t, 4> random_block(uint64_t seed, RandomStream stream, int64_t row, int64_t column,
                                            uint32_t index) {
    constexpr uint32_t kStreamShift = 24;
    return philox({static_cast<uint32_t>(column), static_cast<uint32_t>(row),
                   static_cast<uint32_t>(stream) << kStreamShift | index, 0},
                  {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32U)});
}

// Elementary functions made from +, *, sqrt and integer operations only. They give the same bits on every machine and
// with every C library, and loops over them vectorise. Polynomials: Cephes (Moshier), single precision.

/// Natural logarithm of a positive normal number. The relative error is about 1e-7.
inline float portable_log(float x) {
    constexpr int32_t kSqrtHalfBits = 0x3F3504F3;
    const auto bits = std::bit_cast<int32_t>(x);
    const int32_t exponent = (bits - kSqrtHalfBits) >> 23;  // makes the mantissa lie in [sqrt(1/2), sqrt(2))
    const float m = std::bit_cast<float>(bits - exponent * (1 << 23)) - 1.0F;
    float p = 7.0376836292e-2F;
    p = p * m - 1.1514610310e-1F;
    p = p * m + 1.1676998740e-1F;
    p = p * m - 1.2420140846e-1F;
    p = p * m + 1.4249322787e-1F;
    p = p * m - 1.6668057665e-1F;
    p = p * m + 2.0000714765e-1F;
    p = p * m - 2.4999993993e-1F;
    p = p * m + 3.3333331174e-1F;
    const float square = m * m;
    const auto e = static_cast<float>(exponent);
    return (p * m * square + e * -2.12194440e-4F - 0.5F * square + m) + e * 0.693359375F;
}

/// Arguments by value, unlike std::min: compiles to one instruction.
inline float smaller(float a, float b) { return a < b ? a : b; }
inline float larger(float a, float b) { return a > b ? a : b; }

struct SineCosine {
    float sine;
    float cosine;
};

/// Sine and cosine of `turns` full turns, |turns| < 2^21. The absolute error is about 1e-7.
inline SineCosine portable_sincos(float turns) {
    constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
    const float shifted = turns * 4.0F + kRounder;
    const auto quadrant = std::bit_cast<uint32_t>(shifted);
    const float x = (turns * 4.0F - (shifted - kRounder)) * 1.57079632679F;  // in [-pi/4, pi/4]
    const float z = x * x;
    const float s = ((-1.9515295891e-4F * z + 8.3321608736e-3F) * z - 1.6666654611e-1F) * z * x + x;
    const float c =
        ((2.443315711809948e-5F * z - 1.388731625493765e-3F) * z + 4.166664568298827e-2F) * z * z - 0.5F * z + 1.0F;
    // Masks instead of branches let loops over this function vectorise.
    const uint32_t odd = 0U - (quadrant & 1U);
    const uint32_t swap = (std::bit_cast<uint32_t>(s) ^ std::bit_cast<uint32_t>(c)) & odd;
    const uint32_t sine_sign = (quadrant & 2U) << 30U;
    const uint32_t cosine_sign = ((quadrant + 1U) & 2U) << 30U;
    return {std::bit_cast<float>((std::bit_cast<uint32_t>(s) ^ swap) ^ sine_sign),
            std::bit_cast<float>((std::bit_cast<uint32_t>(c) ^ swap) ^ cosine_sign)};
}

/// Uniform number in (0, 1] from the upper 24 bits of a random word. It is never 0; bits that are all set round to 1.
inline float unit_uniform(uint32_t word) {
    return (static_cast<float>(static_cast<int32_t>(word >> 8U)) + 0.5F) * 5.9604644775390625e-8F;
}

}  // namespace pb::image
