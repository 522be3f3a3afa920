// Windows of known pixels through a Denoiser, for the tests of engines on any device.
#pragma once

#include "base/engine_support.hpp"
#include "base/half.hpp"
#include "engine/memory.hpp"
#include "network/graph_facts.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace pb::test {

/// Values in [0,1] that are a function of `seed` and the index alone.
inline std::vector<float> random_values(size_t count, uint64_t seed) {
    std::vector<float> values(count);
    uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
    for (float& value : values) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        value = static_cast<float>(state >> 40) / static_cast<float>(1 << 24);
    }
    return values;
}

/// Shape of the network's input for `n` windows of h x w.
inline Shape input_shape(const engine::Weights& weights, int64_t n, int64_t h, int64_t w) {
    return {n, weights.graph().channels_in(), h, w};
}

inline Shape output_shape(const engine::Weights& weights, const Shape& in) {
    return {in.n, weights.graph().channels_out(), in.h, in.w};
}

inline BatchView view_of(void* pointer, const Shape& shape, const engine::EngineOptions& options) {
    return {.pointer = pointer,
            .shape = shape,
            .dtype = storage_of(options.engine, options.precision),
            .layout = options.layout,
            .device = options.device};
}

/// The network's output for f32 `values` of `shape`, both in the layout of the options. CPU, fp32; native in any
/// precision.
inline std::vector<float> denoise(engine::Denoiser& denoiser, const engine::Weights& weights,
                                  const engine::EngineOptions& options, std::vector<float> values, const Shape& shape) {
    const Shape out_shape = output_shape(weights, shape);
    std::vector<float> result(static_cast<size_t>(out_shape.elements()), -1.0F);
    device::Stream stream(options.device);
    denoiser.forward(view_of(values.data(), shape, options), view_of(result.data(), out_shape, options), stream);
    return result;
}

/// As `denoise` in bf16: `values` are rounded to it, and so is the output.
inline std::vector<float> denoise_bf16(engine::Denoiser& denoiser, const engine::Weights& weights,
                                       const engine::EngineOptions& options, const std::vector<float>& values,
                                       const Shape& shape) {
    const Shape out_shape = output_shape(weights, shape);
    std::vector<uint16_t> in(values.size()), out(static_cast<size_t>(out_shape.elements()), 0xFFFF);
    std::transform(values.begin(), values.end(), in.begin(), bf16_bits);
    device::Stream stream(options.device);
    denoiser.forward(view_of(in.data(), shape, options), view_of(out.data(), out_shape, options), stream);
    std::vector<float> result(out.size());
    std::transform(out.begin(), out.end(), result.begin(), bf16_value);
    return result;
}

inline std::vector<float> rounded_to_bf16(std::vector<float> values) {
    for (float& value : values) value = bf16_value(bf16_bits(value));
    return values;
}

inline double max_abs(const std::vector<float>& values) {
    double largest = 0;
    for (const float value : values) largest = std::max(largest, std::abs(static_cast<double>(value)));
    return largest;
}

/// max |a - b|; infinite where a value is not a number.
inline double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
    double largest = 0;
    for (size_t i = 0; i < b.size(); ++i) {
        const double difference = std::abs(static_cast<double>(a.at(i)) - static_cast<double>(b[i]));
        if (!(difference < std::numeric_limits<double>::infinity())) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, difference);
    }
    return largest;
}

/// max |a - b| / max |b|.
inline double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
    return largest_difference(a, b) / max_abs(b);
}

}  // namespace pb::test
