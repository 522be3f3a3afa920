// A feature map of one sample in double precision, and the operations of the networks, each written as it is defined.
#pragma once

#include "patchbench/engine/weights.hpp"

#include <cstdint>
#include <vector>

namespace pb::engine::reference {

/// Channels x height x width, row-major.
struct Map {
    int64_t c = 0, h = 0, w = 0;
    std::vector<double> values;

    Map() = default;
    Map(int64_t channels, int64_t height, int64_t width)
        : c(channels), h(height), w(width), values(static_cast<size_t>(channels * height * width)) {}
    [[nodiscard]] double* row(int64_t channel, int64_t y) { return values.data() + (channel * h + y) * w; }
    [[nodiscard]] const double* row(int64_t channel, int64_t y) const { return values.data() + (channel * h + y) * w; }
};

/// Direct or transposed, depending on `layer`; 3x3 kernels are padded by one pixel of zeros.
[[nodiscard]] Map convolve(const Map& x, const Convolution& layer);
[[nodiscard]] Map relu(Map x);
[[nodiscard]] Map add(Map a, const Map& b);
[[nodiscard]] Map subtract(Map a, const Map& b);
[[nodiscard]] Map max_pool_2x2(const Map& x);
[[nodiscard]] Map double_nearest(const Map& x);
[[nodiscard]] Map concatenate(const std::vector<size_t>& operands, const std::vector<Map>& maps);

}  // namespace pb::engine::reference
