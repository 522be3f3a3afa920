// Which pixels each map of a network needs for some pixels of the output: exact along an axis, for windows without
// border. Rows and columns are alike, because every operation is.
#pragma once

#include "patchbench/base/shard.hpp"
#include "patchbench/network/graph.hpp"

namespace pb {

/// Of each operation, in pixels of its own map: the first and the last that `output` depends on, and all between. Those
/// of the input may be negative: pixels before the origin of `output`.
[[nodiscard]] std::vector<Range> required_ranges(const Graph& graph, Range output);

/// Extents of the input must be multiples of this, so that every map has whole pixels.
[[nodiscard]] int64_t alignment_of(const Graph& graph);

/// Pixels on each side that can change an output pixel, whatever its place on the alignment's grid.
[[nodiscard]] int64_t receptive_radius_of(const Graph& graph);

/// Pixels on each side that a core aligned to the alignment can see, rounded up to the alignment. It can be less than
/// the receptive radius: the pixel that sees furthest to the left need not be the first one of a core.
[[nodiscard]] int64_t exact_halo_of(const Graph& graph);

}  // namespace pb
