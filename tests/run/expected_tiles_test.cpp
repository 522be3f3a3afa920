// Two descriptions of the tile geometry that share no code.
#include "run/verify/expected_tiles.hpp"

#include "patchbench/plan/tile_grid.hpp"

#include <gtest/gtest.h>

namespace pb::run {
namespace {

TEST(ExpectedTiles, AreThoseOfTheGrid) {
    for (const Extent image : {Extent{88, 70}, Extent{1, 1}, Extent{64, 64}, Extent{65, 129}, Extent{300, 8}})
        for (const int64_t patch : {8, 24, 64, 512})
            for (const int64_t halo : {0, 8, 56})
                for (const int64_t alignment : {1, 8}) {
                    SCOPED_TRACE(testing::Message() << image.h << 'x' << image.w << " patch " << patch << " halo "
                                                    << halo << " alignment " << alignment);
                    const plan::TileGrid grid(image, {patch, halo, alignment});
                    const ExpectedTiles expected(image, {patch, patch}, halo, alignment);
                    ASSERT_EQ(grid.num_windows(), expected.count());
                    for (int64_t index = 0; index < expected.count(); ++index) {
                        EXPECT_EQ(grid.window(index), expected.tile(index).window);
                        EXPECT_EQ(grid.core(index), expected.tile(index).core);
                    }
                }
}

TEST(ExpectedTiles, SeeAndKeepWhatTheDefinitionSays) {
    const ExpectedTiles tiles({88, 70}, {24, 24}, 8, 8);  // padded to 88 x 72, windows of 40 x 40
    ASSERT_EQ(tiles.count(), 4 * 3);
    EXPECT_EQ(tiles.tile(0).window, (Rect{0, 0, {40, 40}}));
    EXPECT_EQ(tiles.tile(0).core, (Rect{0, 0, {24, 24}}));
    EXPECT_EQ(tiles.tile(11).window, (Rect{48, 32, {40, 40}}));
    EXPECT_EQ(tiles.tile(11).core, (Rect{72, 48, {16, 22}}));
}

}  // namespace
}  // namespace pb::run
