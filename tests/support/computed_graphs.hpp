// The graphs by which carried rows of a network can be computed.
#pragma once

#include "network/parts/band_schedule.hpp"

#include "patchbench/network/graph.hpp"

#include <string>
#include <vector>

namespace pb::test {

/// The network as it is, and with a late map where it can have one.
inline std::vector<network::LateGraph> computed_graphs(const network::Graph& network) {
    std::vector<network::LateGraph> graphs{network::without_late_map(network)};
    if (auto late = network::with_late_map(network)) graphs.push_back(*std::move(late));
    return graphs;
}

/// A sum overwrites x, of which the top rows of an image are needed again, after a layer that works on a copy.
inline network::Graph sum_over_kept_rows() {
    network::GraphBuilder net;
    const size_t x = net.convolve(net.input(1), 32, {.weights = "x"});
    size_t last = x;
    for (int i = 0; i < 8; ++i) last = net.relu(net.convolve(last, 1, {.weights = "narrow " + std::to_string(i)}));
    const size_t wide = net.relu(net.convolve(last, 64, {.weights = "wide"}));
    const size_t sum = net.add(net.convolve(wide, 32, {.weights = "summed"}), x);
    net.convolve(sum, 1, {.weights = "last", .kernel = 1});
    return net.graph();
}

}  // namespace pb::test
