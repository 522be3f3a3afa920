#include "network/parts/exchanged_slab.hpp"

#include "network/receptive_field.hpp"
#include "support/graph_text.hpp"
#include "support/relatives.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/graph.hpp"
#include "patchbench/network/network_shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace pb::network {
namespace {

/// `count` slabs of an image of `height`, as equal as units allow.
std::vector<ExchangedSlab> slabs_of(const Graph& graph, int64_t height, int64_t count) {
    const int64_t unit = slab_unit(graph), units = ceil_div(height, unit);
    const auto rows = [&](int64_t slab) -> Range {
        if (slab < 0 || slab >= count) return {};
        const Range share = shard(units, slab, count);
        return {share.begin * unit, std::min(share.end * unit, height)};
    };
    std::vector<ExchangedSlab> slabs;
    for (int64_t i = 0; i < count; ++i)
        slabs.emplace_back(graph, SlabShape{rows(i), rows(i - 1), rows(i + 1), {height, 5 * alignment_of(graph)}});
    return slabs;
}

/// Calls `check(graph, slabs)` for networks, heights that no unit divides, and numbers of slabs.
template <class Check>
void for_slabs(Check check) {
    for (const NetworkShape& shape : test::tiled_relatives()) {
        const Graph graph = graph_of(shape);
        const int64_t unit = slab_unit(graph);
        SCOPED_TRACE(to_text(graph));
        for (const int64_t units : {1, 2, 5, 11})
            for (const int64_t count : {1, 2, 3, 5}) {
                const int64_t height = units * unit - (unit > 1 ? unit - alignment_of(graph) : 0);
                if (count <= units) check(graph, slabs_of(graph, height, count));
            }
    }
}

TEST(ExchangedSlabs, BeginWhereTheCoarsestTileDoes) {
    EXPECT_EQ(slab_unit(graph_of(DncnnShape{})), 4);
    EXPECT_EQ(slab_unit(graph_of(UnetShape{})), 32);
    EXPECT_EQ(slab_unit(graph_of(DrunetShape{})), 32);
    EXPECT_EQ(slab_unit(graph_of(DncnnShape{.width = 24})), 4) << "channels that fill no vector";
    EXPECT_EQ(slab_unit(graph_of(DncnnShape{.width = 8})), 1) << "no tiles: direct convolutions only";
}

TEST(ExchangedSlabs, OwnEveryRowOfEveryMapOnce) {
    for_slabs([](const Graph& graph, const std::vector<ExchangedSlab>& slabs) {
        for (size_t map = 0; map < graph.size(); ++map) {
            int64_t next = 0;
            for (const ExchangedSlab& slab : slabs) {
                EXPECT_EQ(slab.owned(map).begin, next) << map;
                EXPECT_GT(slab.owned(map).size(), 0) << map;
                next = slab.owned(map).end;
            }
            EXPECT_EQ(next, slabs.front().shape().image.h / graph.shape(map).scale) << map;
        }
    });
}

TEST(ExchangedSlabs, ReceiveWhatTheNeighbourOwnsAndSends) {
    for_slabs([](const Graph& graph, const std::vector<ExchangedSlab>& slabs) {
        for (size_t map = 1; map < graph.size(); ++map)
            for (size_t i = 0; i + 1 < slabs.size(); ++i) {
                const ExchangedSlab &upper = slabs[i], &lower = slabs[i + 1];
                EXPECT_EQ(lower.received(map, Side::above), upper.sent(map, Side::below)) << map;
                EXPECT_EQ(upper.received(map, Side::below), lower.sent(map, Side::above)) << map;
                EXPECT_GE(lower.received(map, Side::above).begin, upper.owned(map).begin) << map;
                EXPECT_LE(upper.received(map, Side::below).end, lower.owned(map).end) << map;
            }
        EXPECT_EQ(slabs.front().received(1, Side::above), Range{});
        EXPECT_EQ(slabs.back().sent(1, Side::below), Range{});
    });
}

TEST(ExchangedSlabs, HoldWhatTheirStepsReadAndTilesThatLieInThemWhole) {
    for_slabs([](const Graph& graph, const std::vector<ExchangedSlab>& slabs) {
        for (const ExchangedSlab& slab : slabs)
            for (const Step& step : steps_of(graph, kNativePath.fusing)) {
                const Range made = slab.owned(step.last), read = pixels_read(graph[step.first], made);
                for (const size_t operand : operands_of(graph, step)) {
                    const int64_t length = slab.shape().image.h / graph.shape(operand).scale;
                    EXPECT_LE(slab.held(operand).begin, std::max<int64_t>(0, read.begin));
                    EXPECT_GE(slab.held(operand).end, std::min(length, read.end));
                }
                const bool tiled = is_convolution(graph[step.first].kind) &&
                                   native_convolution(graph, step.first).method() == NativeMethod::winograd;
                EXPECT_TRUE(!tiled || made.begin % kWinogradTile == 0) << made.begin;
            }
    });
}

TEST(ExchangedSlabs, SendOneRowOfEachMapThatA3x3ConvolutionReads) {
    const Graph graph = graph_of(DrunetShape{});
    const SlabShape middle{{64, 128}, {0, 64}, {128, 200}, {200, 2048}};
    const SlabTraffic traffic = ExchangedSlab(graph, middle).traffic();
    EXPECT_EQ(std::ssize(travelling_maps(graph)), 57);  // of 58; the input is read by every rank itself
    EXPECT_EQ(traffic.messages, 2 * 57);
    // A column has 64 floats at full extent, and as many at each coarser scale: twice the channels, half the columns.
    EXPECT_EQ(traffic.largest, 64 * 4 * 2048);
    EXPECT_EQ(traffic.bytes, traffic.messages * traffic.largest);
    const SlabShape first{{0, 64}, {}, {64, 200}, {200, 2048}};
    EXPECT_EQ(ExchangedSlab(graph, first).traffic().bytes * 2, traffic.bytes);
    const SlabShape alone{{0, 200}, {}, {}, {200, 2048}};
    EXPECT_EQ(ExchangedSlab(graph, alone).traffic().messages, 0);
}

// The map that is doubled has 256 channels at full extent; the last that travels has 32.
TEST(ExchangedSlabs, SayTheLargestOfTheirMessages) {
    const Graph graph = graph_of(UnetShape{.widths = {32, 256}});
    const SlabShape middle{{64, 128}, {0, 64}, {128, 200}, {200, 64}};
    EXPECT_EQ(ExchangedSlab(graph, middle).traffic().largest, 64 * 256 * 4);
}

TEST(ExchangedSlabs, SendTheOperandsOfAConcatenationThatHasNoMap) {
    const Graph graph = graph_of(UnetShape{.widths = {32, 64, 32}});
    const auto tiles = travelling_maps(graph), pixels = travelling_maps(graph, ComputedUnit::pixel);
    for (size_t i = 0; i < graph.size(); ++i) {
        if (graph[i].kind != OperationKind::concatenate) continue;
        EXPECT_EQ(std::ranges::count(tiles, i), 0) << i;
        EXPECT_EQ(std::ranges::count(pixels, i), 1) << i;
        for (const size_t operand : graph[i].operands) EXPECT_EQ(std::ranges::count(tiles, operand), 1) << operand;
    }
    const SlabShape middle{{64, 128}, {0, 64}, {128, 200}, {200, 64}};
    SlabShape of_torch = middle;
    of_torch.unit = ComputedUnit::pixel;
    EXPECT_EQ(ExchangedSlab(graph, middle).traffic().bytes, ExchangedSlab(graph, of_torch).traffic().bytes);
}

TEST(ExchangedSlabs, HoldNoRowsBesideTheirOwnWhereNoneIsRead) {
    GraphBuilder net;
    const size_t x = net.convolve(net.input(1), 8, {.weights = "x", .kernel = 1});
    net.convolve(net.relu(x), 1, {.weights = "last"});
    const Graph graph = net.graph();
    const ExchangedSlab middle(
        graph, {.rows = {8, 16}, .above = {0, 8}, .below = {16, 24}, .image = {24, 8}, .unit = ComputedUnit::pixel});
    EXPECT_EQ(middle.held(0), (Range{8, 16}));
}

TEST(ExchangedSlabs, RefuseRowsBesideTilesAndGaps) {
    const Graph graph = graph_of(DncnnShape{.depth = 5, .width = 32});
    const Extent image{22, 8};
    EXPECT_NO_THROW(ExchangedSlab(graph, {{8, 16}, {4, 8}, {16, 22}, image}));
    for (const SlabShape& wrong :
         {SlabShape{{6, 16}, {4, 6}, {16, 22}, image}, SlabShape{{8, 14}, {4, 8}, {14, 22}, image},
          SlabShape{{8, 16}, {0, 4}, {16, 22}, image}, SlabShape{{8, 16}, {4, 8}, {20, 22}, image},
          SlabShape{{8, 16}, {4, 8}, {}, image}, SlabShape{{8, 8}, {4, 8}, {8, 22}, image}})
        EXPECT_THROW(ExchangedSlab(graph, wrong), Error) << wrong.rows.begin << " " << wrong.rows.end;
}

TEST(ExchangedMemory, HasRoomForBorderRowsAndNoMoreThanTheWholeImageWithoutThem) {
    for_slabs([](const Graph& graph, const std::vector<ExchangedSlab>& slabs) {
        for (const ExchangedSlab& slab : slabs) {
            const ExchangedMemory memory = plan_exchanged(graph, slab);
            for (size_t map = 0; map < graph.size(); ++map) {
                EXPECT_LE(memory.rows[map].begin, slab.held(map).begin) << map;
                EXPECT_GE(memory.rows[map].end, slab.held(map).end) << map;
            }
        }
        if (slabs.size() > 1) return;
        const int64_t whole = place_blocks(plan_memory(graph, kNativePath), slabs.front().shape().image.pixels()).bytes;
        EXPECT_EQ(plan_exchanged(graph, slabs.front()).arena.bytes, whole);
    });
}

}  // namespace
}  // namespace pb::network
