// The pixels of each map that some pixels of the output depend on: exact along one axis, for windows far from the
// border. The same holds for rows and columns, because every operation treats them alike. And those that an engine must
// compute for them.
#pragma once

#include "network/native_layout.hpp"

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

/// What an engine computes of a map together.
enum class ComputedUnit : uint8_t {
    tile,  // native: whole tiles, where Winograd's method makes the map
    pixel  // torch: any pixels; of a map that is doubled, both that have the same source
};

/// What the engine that computes so fuses.
constexpr Fusing fusing_of(ComputedUnit unit) {
    return unit == ComputedUnit::tile ? kNativePath.fusing : kOnednnPath.fusing;
}

/// By operation, for an input without end on either side: ranges may begin below 0. The range of a fused step is that
/// of its last operation, and of both. Begins and ends are multiples of what is computed together: the kernels of the
/// engine native compute whole tiles, and every bit of a tile depends on all pixels under it. With these ranges the
/// output has the bits that it has when all of each map is computed.
[[nodiscard]] std::vector<Range> computed_ranges(const Graph& graph, Range output,
                                                 ComputedUnit unit = ComputedUnit::tile);

/// The same for an input of `extent` pixels, a multiple of the network's alignment.
[[nodiscard]] std::vector<Range> computed_ranges(const Graph& graph, Range output, int64_t extent,
                                                 ComputedUnit unit = ComputedUnit::tile);

/// The part of a range of map `operation` that lies in an input of `extent` pixels.
[[nodiscard]] Range within_map(const Graph& graph, size_t operation, const Range& range, int64_t extent);

/// Multiply-accumulates of all convolutions for these rows of each map and `width` columns of the input, a multiple of
/// the alignment.
[[nodiscard]] double macs_of(const Graph& graph, const std::vector<Range>& rows, int64_t width);

}  // namespace pb::network
