// Relatives of the three networks, for tests of what holds for any shape: all of the operations and little of the work.
#pragma once

#include "patchbench/network/network_shape.hpp"

#include <vector>

namespace pb::test {

/// One of each network.
inline std::vector<network::NetworkShape> small_relatives() {
    return {network::DrunetShape{.widths = {8, 16}, .blocks = 1}, network::UnetShape{.widths = {8, 12, 16}},
            network::DncnnShape{.depth = 5, .width = 8}};
}

/// One of each network. With Winograd's tiles and without.
inline std::vector<network::NetworkShape> tiled_relatives() {
    return {network::DncnnShape{.depth = 5, .width = 32},
            network::DncnnShape{.channels = 1, .depth = 4, .width = 24, .residual = network::DncnnResidual::subtract},
            network::UnetShape{.widths = {32, 64, 32}}, network::DrunetShape{.widths = {32, 64, 96, 32}, .blocks = 2}};
}

}  // namespace pb::test
