// UNet (deepinv `models/unet.py`; batch norm folded into the convolutions): skips are concatenated, the decoder doubles
// by nearest neighbour, the output is added to the input. Names of weights are those of its checkpoints.
#pragma once

#include "patchbench/network/graph.hpp"

#include <compare>

namespace pb::network {

struct UnetShape {
    int64_t channels = 3;                            // of the image
    std::vector<int64_t> widths{64, 128, 256, 512};  // channels at each scale, from full extent down

    friend auto operator<=>(const UnetShape&, const UnetShape&) = default;
};

[[nodiscard]] Graph unet(const UnetShape& shape);

}  // namespace pb::network
