// Strips of columns: each has what its core depends on, where tiles lie as in the whole image, and no more than that.
#include "network/parts/band_schedule.hpp"
#include "network/receptive_field.hpp"
#include "support/graph_text.hpp"
#include "support/relatives.hpp"

#include "patchbench/network/network_shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace pb::network {
namespace {

struct CutCase {
    Graph graph;
    int64_t width, grid;  // of starts
    ComputedUnit unit;
};

template <class Check>
void for_cases(Check check) {
    for (const NetworkShape& shape : test::tiled_relatives())
        for (const ComputedUnit unit : {ComputedUnit::tile, ComputedUnit::pixel})
            for (const int64_t rest : {0, 1, 2, 3}) {  // alignments beyond whole tiles
                const Graph graph = graph_of(shape);
                const int64_t alignment = alignment_of(graph);
                const int64_t grid = alignment * (unit == ComputedUnit::tile ? kWinogradTile : 1);
                SCOPED_TRACE(to_text(graph) + ", rest " + std::to_string(rest) +
                             (unit == ComputedUnit::tile ? ", tiles" : ", pixels"));
                check(CutCase{graph, 60 * 4 * alignment + rest * alignment, grid, unit});
            }
}

/// Numbers of strips: few, many, most.
std::set<int64_t> numbers_of(const StripCut& cut) {
    return {1, 2, 3, std::max<int64_t>(1, cut.most_strips() / 2), cut.most_strips()};
}

TEST(Strips, KeepEachColumnOnce) {
    for_cases([](const CutCase& c) {
        const StripCut cut(c.graph, c.width, c.unit);
        ASSERT_GT(cut.most_strips(), 3);
        for (const int64_t number : numbers_of(cut)) {
            const std::vector<Strip> strips = cut.strips(cut.window_of(number));
            EXPECT_LE(std::ssize(strips), number);
            int64_t next = 0;
            for (const Strip& strip : strips) {
                EXPECT_EQ(strip.core.begin, next);
                EXPECT_GT(strip.core.size(), 0);
                next = strip.core.end;
            }
            EXPECT_EQ(next, c.width);
        }
    });
}

TEST(Strips, HaveWindowsOfOneWidthThatBeginWhereTilesDo) {
    for_cases([](const CutCase& c) {
        const StripCut cut(c.graph, c.width, c.unit);
        for (const int64_t number : numbers_of(cut))
            for (const Strip& strip : cut.strips(cut.window_of(number))) {
                EXPECT_EQ(strip.window.size(), cut.window_of(number));
                EXPECT_EQ(strip.window.begin % c.grid, 0);
                EXPECT_GE(strip.window.begin, 0);
                EXPECT_LE(strip.window.end, c.width);
            }
    });
}

TEST(Strips, SeeWhatTheirCoreDependsOnAndHardlyMore) {
    for_cases([](const CutCase& c) {
        const StripCut cut(c.graph, c.width, c.unit);
        for (const int64_t number : numbers_of(cut)) {
            const std::vector<Strip> strips = cut.strips(cut.window_of(number));
            for (size_t i = 0; i < strips.size(); ++i) {
                const auto& [window, core] = strips[i];
                const Range seen = computed_ranges(c.graph, core, c.width, c.unit).front();
                EXPECT_LE(window.begin, seen.begin) << number << " strips, number " << i;
                EXPECT_GE(window.end, seen.end) << number << " strips, number " << i;
                if (i == 0 || i + 1 == strips.size()) continue;
                EXPECT_LT(seen.begin - window.begin, c.grid);
                EXPECT_LT(window.end - seen.end, c.grid);
            }
        }
    });
}

TEST(Strips, AreNarrowerTheMoreThereAre) {
    for_cases([](const CutCase& c) {
        const StripCut cut(c.graph, c.width, c.unit);
        EXPECT_EQ(cut.window_of(1), c.width);
        EXPECT_EQ(cut.strips(c.width), (std::vector<Strip>{{{0, c.width}, {0, c.width}}}));
        for (int64_t number = 2; number <= cut.most_strips(); ++number) {
            EXPECT_LE(cut.window_of(number), cut.window_of(number - 1));
            const bool is_narrower = cut.window_of(number) < cut.window_of(number - 1);
            EXPECT_TRUE(!is_narrower || std::ssize(cut.strips(cut.window_of(number))) == number) << number;
        }
    });
}

// 8 columns are hardly a core; the layers see more on both sides.
TEST(Strips, AreNotCutFromANarrowImage) {
    const StripCut cut(graph_of(DncnnShape{.depth = 5, .width = 32}), 8, ComputedUnit::tile);
    EXPECT_EQ(cut.most_strips(), 1);
    EXPECT_THROW((void)cut.window_of(2), std::exception);
}

// DnCNN-4 of width 32 sees {10, 34} for {20, 24}, as band_schedule_test shows: 12 columns on the left, 10 on the right,
// which the 2 that are left of 66 in tiles of 4 shorten.
TEST(Strips, OfAChain) {
    const Graph graph = graph_of(DncnnShape{.depth = 4, .width = 32, .residual = DncnnResidual::none});
    const StripCut cut(graph, 66, ComputedUnit::tile);
    EXPECT_EQ(cut.most_strips(), 16 - 3 - 2);
    EXPECT_EQ(cut.window_of(2), 2 + (5 + 6) * 4);
    EXPECT_EQ(cut.strips(46), (std::vector<Strip>{{{0, 46}, {0, 36}}, {{20, 66}, {36, 66}}}));
}

}  // namespace
}  // namespace pb::network
