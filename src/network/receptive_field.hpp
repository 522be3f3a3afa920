// The pixels of each map that some pixels of the output depend on: exact along one axis, for windows far from the
// border. The same holds for rows and columns, because every operation treats them alike.
#pragma once

#include "patchbench/base/shape.hpp"
#include "patchbench/network/graph.hpp"

namespace pb::network {

/// Makes `range` the smallest one that holds itself and `other`. A range of no pixels counts for nothing.
void include(Range& range, const Range& other);

/// Pixels of the operands from which the pixels `made` of the operation's map are computed.
[[nodiscard]] Range pixels_read(const Operation& operation, const Range& made);

/// For each operation, the range of pixels of its map that `output` depends on. Ranges of the input may be negative:
/// pixels before the origin of `output`.
[[nodiscard]] std::vector<Range> required_ranges(const Graph& graph, Range output);

/// Extents of the input must be multiples of this, so that every map has whole pixels.
[[nodiscard]] int64_t alignment_of(const Graph& graph);

/// Pixels on each side that can change an output pixel, at any position relative to the alignment.
[[nodiscard]] int64_t receptive_radius_of(const Graph& graph);

/// Pixels on each side that the output of an aligned core depends on, rounded up to the alignment. It can be less than
/// the receptive radius: the pixel that depends on most pixels to its left need not be the first one of a core.
[[nodiscard]] int64_t exact_halo_of(const Graph& graph);

}  // namespace pb::network
