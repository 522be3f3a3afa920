#include "engine/native/kernels.hpp"

#include <algorithm>
#include <limits>

namespace pb::engine::native {
namespace {

/// The time of a work item; the unit is the product of one tile with one panel of weights. Each group of output
/// channels transforms the operands again.
double item_time(int64_t tiles, int64_t panels) {
    constexpr double kTransformTime = 0.22;  // of a tile; in DnCNN 9 % of the time, its products with two panels 83 %
    // With 8 tiles one thread reads weights as fast as it multiplies them; many threads share the memory.
    constexpr int64_t kFewTiles = 16;
    return static_cast<double>(panels * std::max(tiles, kFewTiles)) + kTransformTime * static_cast<double>(tiles);
}

}  // namespace

WinogradBlocks winograd_blocks(const network::NativeConvolution& layer, int64_t tiles, int64_t threads, int64_t rows) {
    const int64_t most = network::winograd_tiles(layer.in_channels, layer.winograd) / rows * rows;
    const int64_t fewest_blocks = ceil_div(tiles, most);
    WinogradBlocks best;
    double least = std::numeric_limits<double>::max();
    for (int64_t groups = 1; groups <= layer.panels(); ++groups) {
        const int64_t items_each = ceil_div(fewest_blocks * groups, threads);
        const int64_t blocks = std::clamp(items_each * threads / groups, fewest_blocks, tiles);
        const double time = static_cast<double>(ceil_div(blocks * groups, threads)) *
                            item_time(ceil_div(tiles, blocks), ceil_div(layer.panels(), groups));
        if (time < least) best = {blocks, groups};
        least = std::min(least, time);
    }
    return best;
}

}  // namespace pb::engine::native
