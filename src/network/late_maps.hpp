// A network in which a map is made twice, so that carried rows take less memory.
//
// Note [Late maps]: DRUNet's first convolution makes 64 channels of 4, and its last one reads them again: with carried
// rows 185 rows of them wait for all layers between. Where the rows of the input wait instead, and the convolution is
// computed again when its rows are read, these are 4 channels. The kernel and the rows are the same, so native gets the
// same bits; torch adds the copy in the convolution itself, and gets the same values within rounding.
#pragma once

#include "patchbench/network/graph.hpp"

#include <optional>
#include <vector>

namespace pb::network {

struct LateGraph {
    Graph graph;
    std::vector<size_t> origin;  // by operation of `graph`: the operation of the network that it is
};

/// Without a late map: each operation is its own origin.
[[nodiscard]] LateGraph without_late_map(const Graph& graph);

/// With a second copy of the first convolution of the input that has more channels than it and several readers: before
/// the last of these, which reads the copy. None where there is no such convolution.
[[nodiscard]] std::optional<LateGraph> with_late_map(const Graph& graph);

}  // namespace pb::network
