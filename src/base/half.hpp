// The 16-bit float types on the CPU, as bit patterns: rounded to nearest even, infinities and NaN kept (NaN quiet).
#pragma once

#include <cstdint>

namespace pb {

[[nodiscard]] uint16_t bf16_bits(float value);
[[nodiscard]] float bf16_value(uint16_t bits);

/// IEEE binary16; values beyond 65504 round to infinity from 65520 on.
[[nodiscard]] uint16_t f16_bits(float value);
[[nodiscard]] float f16_value(uint16_t bits);

}  // namespace pb
