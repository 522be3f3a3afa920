// The pixels of each map that the engine native must compute for some pixels of the output, along one axis. Its kernels
// compute whole tiles, and every bit of a tile depends on all pixels under it: with these ranges the output has the
// bits that it has when all of each map is computed.
#pragma once

#include "network/native_layout.hpp"

#include "patchbench/base/shard.hpp"

namespace pb::network {

/// By operation, for an input without end on either side: ranges may begin below 0. The range of a fused step is that
/// of its last operation, and of both. Begins and ends of what Winograd's method computes are multiples of its tile.
[[nodiscard]] std::vector<Range> computed_ranges(const Graph& graph, Range output);

/// The same for an input of `extent` pixels, a multiple of the network's alignment.
[[nodiscard]] std::vector<Range> computed_ranges(const Graph& graph, Range output, int64_t extent);

/// Multiply-accumulates of all convolutions for these rows of each map and `width` columns of the input, a multiple of
/// the alignment.
[[nodiscard]] double macs_of(const Graph& graph, const std::vector<Range>& rows, int64_t width);

}  // namespace pb::network
