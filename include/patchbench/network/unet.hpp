// UNet (deepinv `models/unet.py`; batch norm folded into the convolutions): skips are concatenated, the decoder doubles
// by nearest neighbour, the output is added to the input. Names of weights are those of its checkpoints.
#pragma once

#include "patchbench/network/graph.hpp"

#include <compare>
#include <string_view>

namespace pb::network {

struct CheckpointTensors;
struct KeyLayout;

/// Members as Note [A network's page] in network_shape.hpp says.
struct UnetShape {
    static constexpr std::string_view kName = "unet";

    int64_t channels = 3;                            // of the image
    std::vector<int64_t> widths{64, 128, 256, 512};  // channels at each scale, from full extent down

    [[nodiscard]] Graph graph() const;
    [[nodiscard]] std::vector<KeyLayout> layouts(const CheckpointTensors& tensors) const;
    [[nodiscard]] static UnetShape size_in(const Graph& graph);
    static void text(auto& text, auto& shape) { text("widths ", shape.widths); }
    friend auto operator<=>(const UnetShape&, const UnetShape&) = default;
};

}  // namespace pb::network
