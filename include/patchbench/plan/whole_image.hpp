// Whole images of any extents through a network whose alignment they do not fit: the three rules of `odd_shape`.
#pragma once

#include <vector>

#include "patchbench/base/enum_names.hpp"
#include "patchbench/base/network_facts.hpp"
#include "patchbench/base/shape.hpp"

namespace pb {

/// split: deepinv's and KAIR's DRUNet rule (four overlapping quadrants, one after the other; small images padded to a
/// multiple of 16). pad: replicate right and bottom to a multiple of the alignment. error: refuse.
enum class OddShape : uint8_t { split, pad, error };

template <>
struct EnumNames<OddShape> {
    static constexpr std::array<std::pair<OddShape, std::string_view>, 3> names{
        {{OddShape::split, "split"}, {OddShape::pad, "pad"}, {OddShape::error, "error"}}};
};

/// One forward call of a whole-image run: the network sees `seen` (which may reach beyond the image: replicated there), and
/// of its output the part `kept` (in image coordinates) is used.
struct WholeImageCall {
    Rect seen;
    Rect kept;
};

/// The calls, in order, that cover an image of `extent` exactly once. Aligned extents give one call. Throws UsageError
/// for OddShape::error on extents that are not multiples of the alignment (names the nearest legal extents).
[[nodiscard]] std::vector<WholeImageCall> whole_image_calls(NetworkKind kind, Extent extent, OddShape rule);

}  // namespace pb
