// Access to samples of any type as numbers. Only this header defines how each type is stored in memory.
#pragma once

#include "base/half.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/base/shape.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace pb::image {

/// IEEE binary16 as stored in a file.
struct Half {
    uint16_t bits = 0;
};

/// Calls `use` with a value of the C++ type that stores `type`.
template <class Use>
void with_sample_type(DType type, Use&& use) {
    switch (type) {
        case DType::u8: return use(uint8_t{});
        case DType::u16: return use(uint16_t{});
        case DType::i16: return use(int16_t{});
        case DType::u32: return use(uint32_t{});
        case DType::f16: return use(Half{});
        case DType::f32: return use(float{});
        case DType::f64: return use(double{});
        case DType::bf16: break;
    }
    throw Error("no image holds bf16 samples");
}

/// The same for the types of images in memory.
template <class Use>
auto with_image_type(DType type, Use&& use) {
    switch (type) {
        case DType::u8: return use(uint8_t{});
        case DType::u16: return use(uint16_t{});
        case DType::f32: return use(float{});
        default: throw Error("images hold u8, u16 or f32 samples");
    }
}

template <class Sample>
double value_of(Sample sample) {
    if constexpr (std::is_same_v<Sample, Half>)
        return f16_value(sample.bits);
    else
        return static_cast<double>(sample);
}

/// Largest and smallest finite value of a type.
template <class Sample>
double highest_of() {
    if constexpr (std::is_same_v<Sample, Half>)
        return 65504;
    else
        return static_cast<double>(std::numeric_limits<Sample>::max());
}
template <class Sample>
double lowest_of() {
    if constexpr (std::is_same_v<Sample, Half>)
        return -65504;
    else
        return static_cast<double>(std::numeric_limits<Sample>::lowest());
}

/// Converts a number to a sample, rounded to nearest (integers: ties to even) and clipped. NaN is kept in floats and
/// becomes 0 in integers.
template <class Sample>
Sample sample_of(double value) {
    if constexpr (std::is_integral_v<Sample>) {
        if (std::isnan(value)) return 0;
        return static_cast<Sample>(std::clamp(std::nearbyint(value), lowest_of<Sample>(), highest_of<Sample>()));
    } else {
        const double clipped = std::isnan(value) ? value : std::clamp(value, lowest_of<Sample>(), highest_of<Sample>());
        if constexpr (std::is_same_v<Sample, Half>)
            return {f16_bits(static_cast<float>(clipped))};
        else
            return static_cast<Sample>(clipped);
    }
}

/// Returns the sample next to that of `value`: the larger one when `above`, else the smaller one. At an end of the
/// type's range it returns the only neighbour.
template <class Sample>
Sample next_sample(double value, bool above) {
    if (value >= highest_of<Sample>()) above = false;
    if (value <= lowest_of<Sample>()) above = true;
    if constexpr (std::is_integral_v<Sample>) {
        return static_cast<Sample>(value + (above ? 1 : -1));
    } else if constexpr (std::is_same_v<Sample, Half>) {
        constexpr int kLeastExponent = -14;
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        // On the side of the neighbour: below a power of two the step is half as large.
        const double beside = std::nextafter(value, above ? kInfinity : -kInfinity);
        const double step = std::ldexp(1.0, std::max(std::ilogb(beside), kLeastExponent) - 10);
        return sample_of<Half>(value + (above ? step : -step));
    } else {
        constexpr Sample kInfinity = std::numeric_limits<Sample>::infinity();
        return std::nextafter(static_cast<Sample>(value), above ? kInfinity : -kInfinity);
    }
}

/// Reverses the bytes of every sample.
inline void swap_sample_bytes(std::span<std::byte> samples, size_t sample_bytes) {
    if (sample_bytes == 1) return;
    for (size_t i = 0; i + sample_bytes <= samples.size(); i += sample_bytes)
        std::reverse(samples.begin() + static_cast<std::ptrdiff_t>(i),
                     samples.begin() + static_cast<std::ptrdiff_t>(i + sample_bytes));
}

}  // namespace pb::image
