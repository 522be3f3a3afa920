#include "engine/native/kernels.hpp"
#include "network/native_layout.hpp"

#include "patchbench/base/shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pb::engine::native {
namespace {

constexpr int64_t kRows = network::kDirectPixels;

network::NativeConvolution layer_of(int64_t channels) {
    return {{.out_channels = channels, .in_channels = channels, .kernel = 3}, {}};
}

/// Products of one tile with one panel that the busiest thread computes, by those of a thread if all had the same.
double imbalance(const WinogradBlocks& blocks, int64_t tiles, int64_t panels, int64_t threads) {
    int64_t busiest = 0;
    for (int64_t thread = 0; thread < threads; ++thread) {
        int64_t products = 0;
        const Range items = shard(blocks.num_items(), thread, threads);
        for (int64_t item = items.begin; item < items.end; ++item)
            products += shard(tiles, item / blocks.num_groups, blocks.num_blocks).size() *
                        shard(panels, item % blocks.num_groups, blocks.num_groups).size();
        busiest = std::max(busiest, products);
    }
    return static_cast<double>(busiest * threads) / static_cast<double>(tiles * panels);
}

/// The worst of the scales of DRUNet, a window of 256 x 256.
double worst_imbalance(int64_t threads) {
    double worst = 1;
    for (int64_t channels = 64, tiles = 4096; channels <= 512; channels *= 2, tiles /= 4) {
        const network::NativeConvolution layer = layer_of(channels);
        const WinogradBlocks blocks = winograd_blocks(layer, tiles, threads, kRows);
        worst = std::max(worst, imbalance(blocks, tiles, layer.panels(), threads));
    }
    return worst;
}

TEST(WinogradBlocks, ShareEachScaleAmongThreads) {
    for (int64_t threads = 1; threads <= 64; threads *= 2) EXPECT_LE(worst_imbalance(threads), 1.01) << threads;
    for (int64_t threads = 1; threads <= 64; ++threads) EXPECT_LE(worst_imbalance(threads), 1.4) << threads;
}

TEST(WinogradBlocks, FitIntoTheCacheInFullRowsForOneThread) {
    const network::NativeConvolution layer = layer_of(64);
    const WinogradBlocks blocks = winograd_blocks(layer, 28 * 10, 1, kRows);
    EXPECT_EQ(blocks.num_blocks, 10);
    EXPECT_EQ(blocks.num_groups, 1);
    EXPECT_EQ(winograd_blocks(layer, 28 * 10 + 1, 1, kRows).num_blocks, 11);
}

// With more blocks than that all threads would read all weights of a few tiles.
TEST(WinogradBlocks, OfFewTilesShareTheOutputChannels) {
    const WinogradBlocks blocks = winograd_blocks(layer_of(512), 64, 64, kRows);
    EXPECT_GE(ceil_div(64, blocks.num_blocks), 16);
    EXPECT_EQ(blocks.num_items(), 64);
}

TEST(WinogradBlocks, AreNoMoreThanTiles) {
    const WinogradBlocks blocks = winograd_blocks(layer_of(64), 1, 16, kRows);
    EXPECT_EQ(blocks.num_blocks, 1);
    EXPECT_LE(blocks.num_groups, 2);
}

}  // namespace
}  // namespace pb::engine::native
