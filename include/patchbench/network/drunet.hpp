// DRUNet (Zhang et al. 2021; deepinv `models/drunet.py`, KAIR `UNetRes`): residual blocks at each scale, skips are
// sums, no bias anywhere, the output is direct. Names of weights are those of its checkpoints.
#pragma once

#include "patchbench/network/graph.hpp"

#include <compare>

namespace pb::network {

struct DrunetShape {
    int64_t channels = 3;                            // of the image; the input has one more, which holds sigma
    std::vector<int64_t> widths{64, 128, 256, 512};  // channels at each scale, from full extent down
    int64_t blocks = 4;                              // residual blocks at each scale, on the way down and up

    friend auto operator<=>(const DrunetShape&, const DrunetShape&) = default;
};

[[nodiscard]] Graph drunet(const DrunetShape& shape);

}  // namespace pb::network
