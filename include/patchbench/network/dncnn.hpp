// DnCNN (Zhang et al. 2017; deepinv `models/dncnn.py`, and KAIR's form with batch norm folded): a chain of convolutions
// at full extent. Names of weights are deepinv's.
#pragma once

#include "patchbench/network/graph.hpp"

#include <compare>

namespace pb::network {

/// How the output comes from the input and the last convolution.
enum class DncnnResidual : uint8_t {
    none,     // the convolution itself
    add,      // deepinv: convolution + input
    subtract  // KAIR: input - convolution
};

constexpr auto enum_names(DncnnResidual) {
    return std::to_array<EnumName<DncnnResidual>>(
        {{DncnnResidual::none, "none"}, {DncnnResidual::add, "add"}, {DncnnResidual::subtract, "subtract"}});
}

struct DncnnShape {
    int64_t channels = 3;  // of the image
    int64_t depth = 20;    // convolutions, at least 2
    int64_t width = 64;    // channels between them
    DncnnResidual residual = DncnnResidual::add;

    friend auto operator<=>(const DncnnShape&, const DncnnShape&) = default;
};

[[nodiscard]] Graph dncnn(const DncnnShape& shape);

}  // namespace pb::network
