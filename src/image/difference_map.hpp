// Where two images differ, in cells coarse enough to be kept with the results of a run.
#pragma once

#include "image/image.hpp"

namespace pb {

struct DifferenceMap {
    int64_t cell_px = 1;          // edge of a cell
    std::vector<double> largest;  // absolute difference in each cell, row by row; NaN where the cell holds one
};

/// Of two f32 images of equal extents. A cell's edge is the smallest power of two, at least 4, that leaves no more than
/// 48 cells an axis; the last cells of an axis may be cut short.
[[nodiscard]] DifferenceMap map_differences(const PixelView& a, const PixelView& b);

}  // namespace pb
