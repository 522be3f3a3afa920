// A map of the differences between two images, in cells coarse enough to be stored with the results of a run.
#pragma once

#include "image/image.hpp"

namespace pb::image {

struct DifferenceMap {
    int64_t cell_px = 1;          // edge of a cell, in pixels
    std::vector<double> largest;  // absolute difference in each cell, row by row; NaN where the cell holds one
};

/// Compares two f32 images of equal extents. The edge of a cell is the smallest power of two, at least 4 pixels, that
/// gives at most 48 cells along an axis. The last cells of an axis may be smaller.
[[nodiscard]] DifferenceMap map_differences(const PixelView& a, const PixelView& b);

}  // namespace pb::image
