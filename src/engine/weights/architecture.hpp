// What each network is made of: its convolutions under their canonical names. The one place that knows the widths.
#pragma once

#include "patchbench/base/network_facts.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace pb {

/// One convolution of a network, without its values.
struct ConvolutionSpec {
    std::string name;
    int64_t out_channels = 0;
    int64_t in_channels = 0;
    int64_t kernel = 3;
    int64_t stride = 1;
    bool transposed = false;
    bool bias = false;
    double gain = 1.0;  ///< seeded weights: output over input deviation that the initial values aim at
    std::string norm;   ///< key of the batch norm that follows it in the trained network; empty: none

    /// [out, in, k, k], or [in, out, k, k] when transposed.
    [[nodiscard]] std::vector<int64_t> weight_shape() const;
    /// Inputs that each output sums over.
    [[nodiscard]] int64_t fan_in() const;
};

/// In the order of the forward pass. `channels`: image channels, 1 or 3. `depth`: dncnn, number of convolutions.
[[nodiscard]] std::vector<ConvolutionSpec> architecture(NetworkKind kind, int64_t channels, int64_t depth);

inline constexpr int64_t kDncnnDepth = 20;  // deepinv's default

}  // namespace pb
