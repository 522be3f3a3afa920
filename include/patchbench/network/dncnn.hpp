// DnCNN (Zhang et al. 2017; deepinv `models/dncnn.py`, and KAIR's form with batch norm folded): a chain of convolutions
// at full extent. Names of weights are deepinv's.
#pragma once

#include "patchbench/network/graph.hpp"

namespace pb {

/// How the output comes from the input and the last convolution.
enum class DncnnResidual : uint8_t {
    none,     // the convolution itself
    add,      // deepinv: convolution + input
    subtract  // KAIR: input - convolution
};

struct DncnnShape {
    int64_t channels = 3;  // of the image
    int64_t depth = 20;    // convolutions, at least 2
    int64_t width = 64;    // channels between them
    DncnnResidual residual = DncnnResidual::add;
};

[[nodiscard]] Graph dncnn(const DncnnShape& shape);

}  // namespace pb
