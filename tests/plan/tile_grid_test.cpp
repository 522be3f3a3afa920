#include "patchbench/plan/tile_grid.hpp"

#include "support/messages.hpp"

#include "patchbench/base/error.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace pb::plan {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::StartsWith;

struct Case {
    Extent image;
    TileSpec spec;
};

/// Fixed corner cases and random ones: images smaller than, equal to and larger than windows; halos from none to huge.
std::vector<Case> cases() {
    std::vector<Case> all{{{1, 1}, {8, 0, 8}},   {{1, 1}, {1, 0, 1}},    {{7, 3}, {8, 16, 8}},
                          {{7, 3}, {2, 1, 1}},   {{64, 64}, {64, 0, 8}}, {{65, 64}, {64, 8, 8}},
                          {{9, 200}, {8, 8, 8}}, {{100, 90}, {5, 7, 1}}, {{128, 128}, {32, 192, 8}}};
    std::mt19937_64 random(1);
    const auto up_to = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)) + 1; };
    for (int i = 0; i < 200; ++i) {
        const int64_t alignment = i % 2 == 0 ? 1 : 8;
        const Extent image{up_to(150), up_to(150)};
        const int64_t patch = alignment * up_to(8), halo = alignment * (up_to(6) - 1);
        all.push_back({image, {patch, halo, alignment}});
        for (const int64_t step : {1, 4})
            if (alignment % step == 0)
                all.push_back({image, {.patch = patch, .halo = halo, .alignment = alignment, .step = step}});
    }
    return all;
}

int64_t step_of(const Case& c) { return c.spec.step.value_or(c.spec.alignment); }

std::string describe(const Case& c) {
    return "image " + std::to_string(c.image.h) + "x" + std::to_string(c.image.w) + " patch " +
           std::to_string(c.spec.patch) + " halo " + std::to_string(c.spec.halo) + " alignment " +
           std::to_string(c.spec.alignment) + " step " + std::to_string(step_of(c));
}

/// Adds 1 to `painted` (row-major, of `image`) for each pixel of `rect`.
void paint(std::vector<int>& painted, Extent image, const Rect& rect) {
    for (int64_t row = rect.row; row < rect.row + rect.extent.h; ++row)
        for (int64_t column = rect.column; column < rect.column + rect.extent.w; ++column)
            ++painted.at(static_cast<size_t>(row * image.w + column));
}

std::vector<int> blank(Extent image) { return std::vector<int>(static_cast<size_t>(image.pixels()), 0); }

TEST(TileGrid, EveryPixelIsInExactlyOneCore) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(describe(c));
        const TileGrid grid(c.image, c.spec);
        auto painted = blank(c.image);
        for (int64_t i = 0; i < grid.num_windows(); ++i) paint(painted, c.image, grid.core(i));
        EXPECT_TRUE(std::all_of(painted.begin(), painted.end(), [](int times) { return times == 1; }));
    }
}

/// One axis of a core lies in its window, `halo` away from each window edge that is no border of the padded image.
void expect_halo_kept(Range window, Range core, int64_t padded, int64_t halo) {
    EXPECT_GE(core.begin, window.begin);
    EXPECT_LE(core.end, window.end);
    EXPECT_TRUE(window.begin == 0 || core.begin - window.begin >= halo);
    EXPECT_TRUE(window.end == padded || window.end - core.end >= halo);
}

TEST(TileGrid, WindowsHaveOneShapeAlignedStartsAndKeepTheHalo) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(describe(c));
        const TileGrid grid(c.image, c.spec);
        const Extent padded = grid.padded();
        EXPECT_EQ(padded.h % step_of(c), 0);
        EXPECT_LT(padded.h - c.image.h, step_of(c));
        const int64_t needed = c.spec.patch + 2 * c.spec.halo;
        EXPECT_EQ(grid.window().h, std::min(needed + padded.h % c.spec.alignment, padded.h));
        EXPECT_EQ(grid.window().w, std::min(needed + padded.w % c.spec.alignment, padded.w));
        for (int64_t i = 0; i < grid.num_windows(); ++i) {
            const Rect window = grid.window(i);
            const Rect core = grid.core(i);
            EXPECT_EQ(window.extent, grid.window());
            EXPECT_EQ(window.row % c.spec.alignment, 0);
            EXPECT_EQ(window.column % c.spec.alignment, 0);
            const Range rows{window.row, window.row + window.extent.h};
            const Range columns{window.column, window.column + window.extent.w};
            EXPECT_GE(rows.begin, 0);
            EXPECT_LE(rows.end, padded.h);
            EXPECT_GE(columns.begin, 0);
            EXPECT_LE(columns.end, padded.w);
            expect_halo_kept(rows, {core.row, core.row + core.extent.h}, padded.h, c.spec.halo);
            expect_halo_kept(columns, {core.column, core.column + core.extent.w}, padded.w, c.spec.halo);
        }
    }
}

TEST(TileGrid, AWindowThatIsNotInItIsNamed) {
    const TileGrid grid({100, 100}, {.patch = 32, .halo = 8, .alignment = 8});
    for (const int64_t index : {int64_t{-1}, grid.num_windows()}) {
        const std::string message = "window " + std::to_string(index) + " is not in the grid";
        EXPECT_THAT([&] { (void)grid.window(index); }, testing::ThrowsMessage<Error>(message));
        EXPECT_THAT([&] { (void)grid.core(index); }, testing::ThrowsMessage<Error>(message));
    }
}

TEST(TileGrid, CoincidingWindowsAreMergedAndPatchesStillCounted) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(describe(c));
        const TileGrid grid(c.image, c.spec);
        std::set<std::pair<int64_t, int64_t>> starts;
        int64_t patches = 0;
        for (int64_t i = 0; i < grid.num_windows(); ++i) {
            EXPECT_TRUE(starts.emplace(grid.window(i).row, grid.window(i).column).second);
            const Extent core = grid.core(i).extent;
            const int64_t in_window = ceil_div(core.h, c.spec.patch) * ceil_div(core.w, c.spec.patch);
            EXPECT_EQ(grid.num_patches({i, i + 1}), in_window);
            patches += in_window;
        }
        EXPECT_EQ(patches, grid.num_patches());
        EXPECT_EQ(patches, ceil_div(c.image.h, c.spec.patch) * ceil_div(c.image.w, c.spec.patch));
        EXPECT_EQ(grid.num_patches({0, grid.num_windows()}), patches);
        EXPECT_EQ(grid.num_patches({1, 1}), 0);
        EXPECT_EQ(grid.processed_pixels(), grid.num_windows() * grid.window().pixels());
    }
}

TEST(TileGrid, SharesCoverExactlyTheirCores) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(describe(c));
        const TileGrid grid(c.image, c.spec);
        for (int64_t num_ranks : {1, 2, 3, 5}) {
            int64_t patches = 0;
            for (int64_t rank = 0; rank < num_ranks; ++rank) {
                const Range share = shard(grid.num_windows(), rank, num_ranks);
                patches += grid.num_patches(share);
                auto by_core = blank(c.image);
                auto by_rect = blank(c.image);
                Range seen{c.image.h, 0};
                for (int64_t i = share.begin; i < share.end; ++i) {
                    const Rect window = grid.window(i);
                    const Rect core = grid.core(i);
                    paint(by_core, c.image, core);
                    seen = {std::min(seen.begin, window.row),
                            std::max(seen.end, std::min(window.row + window.extent.h, c.image.h))};
                }
                const auto rects = covered_rects(grid, share);
                EXPECT_LE(rects.size(), 3U);
                for (const Rect& rect : rects) paint(by_rect, c.image, rect);
                EXPECT_EQ(by_core, by_rect);
                if (share.size() == 0) seen = {};
                EXPECT_EQ(grid.window_rows(share), seen);
            }
            EXPECT_EQ(patches, grid.num_patches());
        }
    }
}

TEST(TileGrid, HugeImagesAreArithmetic) {
    const TileGrid grid({100'000, 70'000}, {256, 192, 8});
    EXPECT_EQ(grid.num_patches(), 391 * 274);
    EXPECT_EQ(grid.num_windows(), 390 * 273);  // the last two patches of an axis share a window
    EXPECT_EQ(grid.processed_pixels(), grid.num_windows() * 640 * 640);
    EXPECT_EQ(covered_rects(grid, {0, grid.num_windows()}), (std::vector<Rect>{{0, 0, {100'000, 70'000}}}));
    const TileGrid fine({100'000, 70'000}, {1, 0, 1});
    EXPECT_EQ(fine.num_windows(), 7'000'000'000);
    EXPECT_EQ(fine.core(6'999'999'999), (Rect{99'999, 69'999, {1, 1}}));
}

TEST(TileGrid, OverheadOfDrunetsExactHaloOnSmallPatchesIsKnown) {
    const TileGrid grid({2048, 2048}, {128, 192, 8});
    EXPECT_EQ(grid.window(), (Extent{512, 512}));
    EXPECT_EQ(grid.num_patches(), 256);
    EXPECT_LT(grid.num_windows(), 256);
    EXPECT_GT(grid.processed_pixels(), 8 * grid.image().pixels());
}

TEST(TileGrid, HasNoWindowsButItsOwn) {
    const TileGrid grid({100, 100}, {64, 0, 1});
    for (const int64_t index : {-1, 4}) {
        EXPECT_THROW((void)grid.window(index), Error) << index;
        EXPECT_THROW((void)grid.core(index), Error) << index;
    }
}

TEST(TileGrid, IllegalValuesNameTheNearestLegalOnes) {
    const Extent image{100, 100};
    EXPECT_THAT(usage_error([&] { TileGrid(image, {100, 0, 8}); }), names("patch = 100 px ", "96 and 104"));
    EXPECT_THAT(usage_error([&] { TileGrid(image, {4, 0, 8}); }), AllOf(StartsWith("patch = 4 px "), EndsWith(" 8")));
    EXPECT_THAT(usage_error([&] { TileGrid(image, {12, 0, 8}); }), EndsWith("the nearest are 8 and 16"));
    EXPECT_THAT(usage_error([&] {
                    TileGrid(image, {64, 4, 8});
                }),
                EndsWith("must be a multiple of 8 or 0; the nearest are 0 and 8"));
    EXPECT_THAT(usage_error([&] {
                    TileGrid(image, {0, 0, 1});
                }),
                AllOf(StartsWith("patch = 0 px must be at least 1;"), EndsWith(" 1")));
    EXPECT_EQ(TileGrid(image, {1 << 30, 0, 8}).num_windows(), 1) << "the largest patch";
    EXPECT_THAT(usage_error([&] { TileGrid(image, {64, 20, 8}); }), names("halo = 20 px ", "16 and 24"));
    EXPECT_THAT(usage_error([&] { TileGrid(image, {64, -8, 8}); }), AllOf(StartsWith("halo = -8 px "), EndsWith(" 0")));
    EXPECT_THAT(usage_error([&] {
                    TileGrid(image, {int64_t{1} << 60, 0, 8});
                }),
                names("patch = 1152921504606846976 px", "1073741824"));
    EXPECT_THAT(usage_error([&] { TileGrid({0, 5}, {64, 0, 8}); }), StartsWith("image of 0x5 px"));
    EXPECT_THAT(usage_error([&] {
                    TileGrid({1 << 29, 1 << 29}, {1, 0, 1});
                }),
                names("patch = 1 px ", "536870912 px", "4194304"));
    for (const Extent& strip : {Extent{1 << 23, 5}, {5, 1 << 23}})
        EXPECT_THAT(usage_error([&] { TileGrid(strip, {1, 0, 1}); }), names("patch = 1 px ", "8388608 px", "4194304"));
    EXPECT_THAT(usage_error([&] {
                    (void)TileGrid({1 << 21, 1 << 21}, {1, 1 << 19, 1}).processed_pixels();
                }),
                names("patch = 1 px ", "halo = 524288 px "));
}

}  // namespace
}  // namespace pb::plan
