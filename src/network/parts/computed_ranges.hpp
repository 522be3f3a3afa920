// The pixels of each map that an engine must compute for some pixels of the output, along one axis. The kernels of the
// engine native compute whole tiles, and every bit of a tile depends on all pixels under it: with these ranges the
// output has the bits that it has when all of each map is computed.
#pragma once

#include "network/native_layout.hpp"

#include "patchbench/base/shape.hpp"

namespace pb::network {

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
/// of its last operation, and of both. Begins and ends are multiples of what is computed together.
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
