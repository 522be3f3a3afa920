#include "base/half.hpp"

#include <bit>
#include <cmath>

namespace pb {

uint16_t bf16_bits(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
    const uint32_t half_minus_tie = 0x7FFF + (bits >> 16 & 1);  // a tie goes up only from an odd number
    return static_cast<uint16_t>((bits + half_minus_tie) >> 16);
}

float bf16_value(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t f16_bits(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
    const float magnitude = std::bit_cast<float>(bits & 0x7FFFFFFF);
    if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7E00);
    if (magnitude >= 65520.0F) return static_cast<uint16_t>(sign | 0x7C00);
    if (magnitude < 0x1p-14F) {  // subnormal: units of 2^-24; 2^23 + units rounds to whole units
        const auto units = std::bit_cast<uint32_t>(magnitude * 0x1p24F + 0x1p23F) & 0x7FFFFF;
        return static_cast<uint16_t>(sign | units);
    }
    const uint32_t rounded = (bits & 0x7FFFFFFF) + 0xFFF + (bits >> 13 & 1);
    return static_cast<uint16_t>(sign | ((rounded >> 13) - (112U << 10)));  // exponent bias 127 -> 15
}

float f16_value(uint16_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    const uint32_t exponent = bits >> 10 & 0x1F;
    const uint32_t fraction = bits & 0x3FF;
    if (exponent == 0) {
        const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
        return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
    }
    const uint32_t wide_exponent = exponent == 31 ? 255 : exponent + 112;
    return std::bit_cast<float>(sign | wide_exponent << 23 | fraction << 13);
}

}  // namespace pb
