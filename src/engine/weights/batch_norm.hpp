// Folds batch norm into the convolution before it, in double precision.
#pragma once

#include "patchbench/engine/weights.hpp"

#include <span>

namespace pb::engine {

/// A trained batch norm; in inference it computes for channel c: (x - mean[c]) / sqrt(variance[c] + eps) * scale[c] +
/// shift[c].
struct BatchNorm {
    std::span<const float> scale;
    std::span<const float> shift;
    std::span<const float> mean;
    std::span<const float> variance;
    double eps = 1e-5;
};

/// Scales the output channels of `convolution` (not transposed) and gives it a bias. One value per output channel in
/// each span; variance + eps must be positive.
void fold(const BatchNorm& norm, Convolution& convolution);

}  // namespace pb::engine
