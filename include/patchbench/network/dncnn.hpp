// DnCNN (Zhang et al. 2017; deepinv `models/dncnn.py`, and KAIR's form with batch norm folded): a chain of convolutions
// at full extent. Names of weights are deepinv's.
#pragma once

#include "patchbench/network/graph.hpp"

#include <compare>
#include <string_view>

namespace pb::network {

struct CheckpointTensors;
struct KeyLayout;

/// How the output comes from the input and the last convolution.
enum class DncnnResidual : uint8_t {
    none,     // the convolution itself
    add,      // deepinv: convolution + input
    subtract  // KAIR: input - convolution
};

/// Members as Note [A network's page] in network_shape.hpp says.
struct DncnnShape {
    static constexpr std::string_view kName = "dncnn";

    int64_t channels = 3;  // of the image
    int64_t depth = 20;    // convolutions, at least 2
    int64_t width = 64;    // channels between them
    DncnnResidual residual = DncnnResidual::add;

    [[nodiscard]] Graph graph() const;
    [[nodiscard]] std::vector<KeyLayout> layouts(const CheckpointTensors& tensors) const;
    [[nodiscard]] static DncnnShape size_in(const Graph& graph);
    static void text(auto& text, auto& shape) {
        text("depth ", shape.depth, ", width ", shape.width, ", residual ", shape.residual);
    }
    friend auto operator<=>(const DncnnShape&, const DncnnShape&) = default;
};

}  // namespace pb::network
