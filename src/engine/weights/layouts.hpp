// How published checkpoints name the tensors of these networks: for each convolution of the graph, the keys of its
// parts in the file.
#pragma once

#include "patchbench/engine/weights.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace pb::engine {

struct LayerKeys {
    size_t index = 0;         // of the convolution in the graph
    std::string convolution;  // key in the file
    bool has_bias = false;    // whether the file has a bias
    std::string norm;         // key of the batch norm in the file; empty when there is none
};

struct KeyLayout {
    std::string name;
    network::NetworkShape shape;
    network::Graph graph;  // of the shape
    double eps = 1e-5;
    std::vector<LayerKeys> layers;
};

/// Every layout for gray and for colour images. The depth of a DnCNN follows from the keys of `tensors`.
[[nodiscard]] std::vector<KeyLayout> known_layouts(const StateDict& tensors);

}  // namespace pb::engine
