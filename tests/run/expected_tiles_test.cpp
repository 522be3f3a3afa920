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
                for (const auto& [alignment, step] : {std::pair<int64_t, int64_t>{1, 1}, {8, 8}, {8, 1}, {8, 4}}) {
                    SCOPED_TRACE(testing::Message() << image.h << 'x' << image.w << " patch " << patch << " halo "
                                                    << halo << " alignment " << alignment << " step " << step);
                    const plan::TileGrid grid(image,
                                              {.patch = patch, .halo = halo, .alignment = alignment, .step = step});
                    const ExpectedTiles expected(image, {patch, patch}, halo, alignment, step);
                    ASSERT_EQ(grid.num_windows(), expected.count());
                    for (int64_t index = 0; index < expected.count(); ++index) {
                        EXPECT_EQ(grid.window(index), expected.tile(index).window);
                        EXPECT_EQ(grid.core(index), expected.tile(index).core);
                    }
                }
}

TEST(ExpectedTiles, SeeAndKeepWhatTheDefinitionSays) {
    const ExpectedTiles tiles({88, 70}, {24, 24}, 8, 8, 8);  // padded to 88 x 72, windows of 40 x 40
    ASSERT_EQ(tiles.count(), 4 * 3);
    EXPECT_EQ(tiles.tile(0).window, (Rect{0, 0, {40, 40}}));
    EXPECT_EQ(tiles.tile(0).core, (Rect{0, 0, {24, 24}}));
    EXPECT_EQ(tiles.tile(11).window, (Rect{48, 32, {40, 40}}));
    EXPECT_EQ(tiles.tile(11).core, (Rect{72, 48, {16, 22}}));
}

/// Strips of 60 columns of an image of 98, padded to 100, with a context of 9 columns to the left and 7 to the right.
const StripRules kRules{.width = 98, .padded = 100, .columns = 60, .unit = 4, .before = 9, .behind = 7};

std::vector<plan::Tile> two_strips() {
    return {{{0, 0, {8, 60}}, {0, 0, {8, 50}}}, {{0, 40, {8, 60}}, {0, 50, {8, 48}}}};
}

TEST(ExpectedStrips, HaveTheirContextAndKeepEachColumnOnce) {
    EXPECT_EQ(find_wrong_strip(two_strips(), kRules), std::nullopt);
    const auto is_wrong = [](auto change) {
        std::vector<plan::Tile> strips = two_strips();
        change(strips);
        return find_wrong_strip(strips, kRules).has_value();
    };
    const auto move_border = [](std::vector<plan::Tile>& strips, int64_t columns) {
        strips[0].core.extent.w += columns;
        strips[1].core.column += columns;
        strips[1].core.extent.w -= columns;
    };
    EXPECT_FALSE(is_wrong([&](auto& strips) { move_border(strips, 3); }));
    EXPECT_TRUE(is_wrong([&](auto& strips) { move_border(strips, 4); })) << "the left one lacks a column of context";
    EXPECT_FALSE(is_wrong([&](auto& strips) { move_border(strips, -1); }));
    EXPECT_TRUE(is_wrong([&](auto& strips) { move_border(strips, -2); })) << "the right one does";
    EXPECT_TRUE(is_wrong([](auto& strips) { ++strips[1].core.column; })) << "a column is missing";
    EXPECT_TRUE(is_wrong([](auto& strips) { --strips[1].core.column; })) << "a column is made twice";
    EXPECT_TRUE(is_wrong([](auto& strips) { --strips[1].core.extent.w; })) << "the last column is missing";
    EXPECT_TRUE(is_wrong([](auto& strips) { strips.pop_back(); }));
    EXPECT_TRUE(is_wrong([](auto& strips) { strips[1].window.extent.w = 56; }));
}

TEST(ExpectedStrips, BeginWhereTilesDo) {
    const auto with_a_middle_strip_at = [](int64_t column) {
        std::vector<plan::Tile> strips = two_strips();
        strips.back().core = {0, 70, {8, 28}};
        strips.insert(std::next(strips.begin()), plan::Tile{{0, column, {8, 60}}, {0, 50, {8, 20}}});
        return find_wrong_strip(strips, kRules);
    };
    EXPECT_EQ(with_a_middle_strip_at(20), std::nullopt);
    EXPECT_TRUE(with_a_middle_strip_at(21).has_value()) << "with all of its context";
}

}  // namespace
}  // namespace pb::run
