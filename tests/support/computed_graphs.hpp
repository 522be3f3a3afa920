// The graphs by which carried rows of a network can be computed.
#pragma once

#include "network/parts/band_schedule.hpp"

#include <vector>

namespace pb::test {

/// The network as it is, and with a late map where it can have one.
inline std::vector<network::LateGraph> computed_graphs(const network::Graph& network) {
    std::vector<network::LateGraph> graphs{network::without_late_map(network)};
    if (auto late = network::with_late_map(network)) graphs.push_back(*std::move(late));
    return graphs;
}

}  // namespace pb::test
