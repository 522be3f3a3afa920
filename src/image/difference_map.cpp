#include "image/difference_map.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/base/shard.hpp"

#include <algorithm>
#include <cmath>

namespace pb::image {

namespace {

constexpr int64_t kMostCells = 48;  // cells along an axis, at most
constexpr int64_t kSmallestCell = 4;

int64_t cell_of(Extent extent) {
    int64_t cell = kSmallestCell;
    while (ceil_div(std::max(extent.h, extent.w), cell) > kMostCells) cell *= 2;
    return cell;
}

/// The larger of two differences. NaN counts as the largest; std::max would lose it.
double worse(double a, double b) { return std::isnan(a) || a >= b ? a : b; }

}  // namespace

DifferenceMap map_differences(const PixelView& a, const PixelView& b) {
    require(a.dtype == DType::f32 && b.dtype == DType::f32, "differences are mapped between f32 images");
    require(a.extent == b.extent && a.channels == b.channels, "images to compare differ in extent or channels");
    DifferenceMap map{cell_of(a.extent), {}};
    const int64_t columns = ceil_div(a.extent.w, map.cell_px);
    map.largest.assign(static_cast<size_t>(ceil_div(a.extent.h, map.cell_px) * columns), 0.0);
    for (int64_t y = 0; y < a.extent.h; ++y) {
        const auto* left = reinterpret_cast<const float*>(a.row(y));
        const auto* right = reinterpret_cast<const float*>(b.row(y));
        double* cells = map.largest.data() + y / map.cell_px * columns;
        for (int64_t i = 0; i < a.extent.w * a.channels; ++i) {
            double& cell = cells[i / a.channels / map.cell_px];
            cell = worse(cell, std::abs(left[i] - right[i]));
        }
    }
    return map;
}

}  // namespace pb::image
