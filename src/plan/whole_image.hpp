// Whole images of any extents through a network whose alignment they do not fit: the three rules of `odd_shape`.
#pragma once

#include "patchbench/base/choices.hpp"
#include "patchbench/base/shape.hpp"
#include "patchbench/network/network_facts.hpp"

#include <vector>

namespace pb {

/// One forward call of a whole-image run: the network sees `seen` (which may reach beyond the image: replicated there),
/// and of its output the part `kept` (in image coordinates) is used.
struct WholeImageCall {
    Rect seen;
    Rect kept;
};

/// The calls, in order, that cover an image of `extent` exactly once. Aligned extents give one call; only a padded call
/// (always alone, anchored at 0,0) sees beyond the image. OddShape::split is DRUNet's own rule as in deepinv 0.5.0: it
/// also pads aligned images with an edge below 32 px to a multiple of 16; other networks pad, and relatives of DRUNet
/// whose alignment is above 16. Throws UsageError for an
/// empty image and Refused for OddShape::error on extents that are not multiples of the alignment (names the nearest
/// legal extents).
[[nodiscard]] std::vector<WholeImageCall> whole_image_calls(const NetworkFacts& facts, Extent extent, OddShape rule);

}  // namespace pb
