// DRUNet (Zhang et al. 2021; deepinv `models/drunet.py`, KAIR `UNetRes`): residual blocks at each scale, skips are
// sums, no bias anywhere, the output is direct. Names of weights are those of its checkpoints.
#pragma once

#include "patchbench/network/graph.hpp"

#include <compare>
#include <string_view>

namespace pb::network {

struct CheckpointTensors;
struct KeyLayout;

/// Members as Note [A network's page] in network_shape.hpp says.
struct DrunetShape {
    static constexpr std::string_view kName = "drunet";

    int64_t channels = 3;                            // of the image; the input has one more, which holds sigma
    std::vector<int64_t> widths{64, 128, 256, 512};  // channels at each scale, from full extent down
    int64_t blocks = 4;                              // residual blocks at each scale, on the way down and up

    [[nodiscard]] Graph graph() const;
    [[nodiscard]] std::vector<KeyLayout> layouts(const CheckpointTensors& tensors) const;
    [[nodiscard]] static DrunetShape size_in(const Graph& graph);
    static void text(auto& text, auto& shape) { text("widths ", shape.widths, ", ", shape.blocks, " blocks"); }
    friend auto operator<=>(const DrunetShape&, const DrunetShape&) = default;
};

}  // namespace pb::network
