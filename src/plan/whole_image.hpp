// Whole images of any extents through a network whose alignment they do not fit: the three rules of `odd_shape`.
#pragma once

#include "patchbench/base/choices.hpp"
#include "patchbench/base/shape.hpp"
#include "patchbench/network/network_facts.hpp"
#include "patchbench/plan/tile_grid.hpp"

#include <vector>

namespace pb::plan {

/// The tiles, one forward call each and in order, whose cores cover an image of `extent` exactly once. Aligned extents
/// give one call; only the window of a padded call (always alone, anchored at 0,0) reaches beyond the image.
/// OddShape::split is DRUNet's own rule as in deepinv 0.5.0: it
/// also pads aligned images with an edge below 32 px to a multiple of 16; other networks pad, and relatives of DRUNet
/// whose alignment is above 16. Throws UsageError for an
/// empty image and Refused for OddShape::error on extents that are not multiples of the alignment (names the nearest
/// legal extents).
[[nodiscard]] std::vector<Tile> whole_image_calls(const network::NetworkFacts& facts, Extent extent, OddShape rule);

}  // namespace pb::plan
