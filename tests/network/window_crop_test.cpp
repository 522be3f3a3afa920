// What is computed of a cropped window, and the memory of its maps.
#include "network/parts/window_crop.hpp"

#include "network/receptive_field.hpp"
#include "random_graph.hpp"
#include "support/memory_peaks.hpp"
#include "support/networks.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/graph.hpp"
#include "patchbench/network/network_facts.hpp"

#include <gtest/gtest.h>

namespace pb::network {
namespace {

constexpr CropEngine kTorch{ComputedUnit::pixel, kOnednnPath};

bool holds(const Range& outer, const Range& inner) { return outer.begin <= inner.begin && inner.end <= outer.end; }

/// The pixels of a map of `length` pixels, beyond which are zeros.
Range within(const Range& range, int64_t length) {
    return {std::clamp<int64_t>(range.begin, 0, length), std::clamp<int64_t>(range.end, 0, length)};
}

/// Every pixel that a step reads is made, and what is made has room, where maps share memory the same.
void expect_sound(const Graph& graph, const WindowCrop& crop, const WindowCrop::Axis& axis, int64_t extent) {
    EXPECT_TRUE(holds(axis.made[graph.output()], axis.core));
    const auto length = [&](size_t map) { return extent / graph.shape(map).scale; };
    for (const Step& step : crop.memory().steps) {
        const Range& made = axis.made[step.last];
        EXPECT_TRUE(holds({0, length(step.last)}, made)) << step.last;
        for (const size_t map : graph[step.first].operands)
            EXPECT_TRUE(holds(axis.made[map], within(pixels_read(graph[step.first], made), length(map)))) << map;
        if (const auto other = map_summed(graph, step)) {
            EXPECT_TRUE(holds(axis.made[*other], made)) << *other;
        }
        if (graph[step.first].kind == OperationKind::transposed_convolution) {
            EXPECT_EQ(made.begin % 2 + made.end % 2, 0) << "its kernel makes pairs of pixels";
        }
        EXPECT_TRUE(holds(axis.held[step.last], made)) << step.last;
        if (const auto shared = map_overwritten(graph, crop.memory(), step)) {
            EXPECT_EQ(axis.held[*shared], axis.held[step.last]);
        }
    }
}

template <class Check>
void for_graphs(Check check) {
    for (const NetworkKind network : test::all_networks()) check(graph_of(standard_shape(network, 3)));
    for (uint32_t seed = 0; seed < 100; ++seed) check(test::RandomGraph(seed).make());
}

TEST(WindowCrop, MakesWhatIsReadAndHasRoomForIt) {
    for_graphs([](const Graph& graph) {
        const int64_t unit = alignment_of(graph), extent = 24 * unit;
        const std::vector<Range> cores{
            {0, 8 * unit}, {8 * unit, 16 * unit}, {20 * unit - 3, extent}, {5 * unit, 5 * unit + 1}};
        const WindowCrop crop(graph, {extent, extent}, cores, cores);
        for (const Range& core : cores) expect_sound(graph, crop, crop.rows_of(rect_of(core, core)), extent);
    });
}

TEST(WindowCrop, OfTheWholeWindowIsTheUsualForwardCall) {
    for_graphs([](const Graph& graph) {
        const int64_t unit = alignment_of(graph);
        const Extent window{6 * unit, 10 * unit};
        const WindowCrop crop(graph, window, {{0, window.h}}, {{0, window.w}});
        const bool strides = std::ranges::any_of(convolutions_of(graph), [&](size_t i) {
            return graph[i].filter->stride > graph[i].filter->kernel;  // which skip pixels
        });
        if (strides) return;
        EXPECT_DOUBLE_EQ(crop.macs({0, 0, window}), mac_per_pixel(graph) * static_cast<double>(window.pixels()));
        EXPECT_EQ(crop.place(3).bytes, place_blocks(plan_memory(graph, kNativePath), 3 * window.pixels()).bytes);
    });
}

/// Arithmetic of a window in the middle of an image, by that of its core.
double arithmetic(int64_t patch, const CropEngine& engine = {}) {
    const NetworkFacts& facts = network_facts(kind_of<DrunetShape>());
    const int64_t edge = patch + 2 * facts.exact_halo;
    const Range core{facts.exact_halo, facts.exact_halo + patch};
    const WindowCrop crop(graph_of(DrunetShape{}), {edge, edge}, {core}, {core}, engine);
    return crop.macs(rect_of(core, core)) / facts.mac_per_pixel / static_cast<double>(patch * patch);
}

// Computed apart from this program, layer by layer.
TEST(WindowCrop, SavesArithmeticOfDrunetWithTheExactHalo) {
    EXPECT_NEAR(arithmetic(256), 4.838, 5e-4) << "of 6.25";
    EXPECT_NEAR(arithmetic(1024), 1.665, 5e-4) << "of 1.89";
    EXPECT_NEAR(arithmetic(256, kTorch), 3.23604, 5e-6) << "no tiles, but pairs of pixels where a map is doubled";
    EXPECT_NEAR(arithmetic(1024, kTorch), 1.40952, 5e-6);
}

/// Goes through the steps as an engine does: what is read is there and lies in its map, and zeros are beyond it.
void expect_sound_pieces(const Graph& graph, const std::vector<PieceStep>& steps, int64_t extent) {
    std::vector<Piece> held(graph.size());
    held.front() = {{0, extent}, {0, extent}};
    for (const PieceStep& step : steps) {
        for (size_t i = 0; i < step.maps.size(); ++i) {
            EXPECT_TRUE(holds(held[step.maps[i]].rows, step.read[i].rows)) << step.maps[i];
            EXPECT_TRUE(holds(held[step.maps[i]].columns, step.read[i].columns)) << step.maps[i];
        }
        const Operation& operation = graph[step.step.first];
        if (operation.kind == OperationKind::convolution) {
            const auto& [before, after, padding] = step.zeros_in_rows;
            const int64_t pixels = step.read.front().rows.size() + before + after + 2 * padding;
            EXPECT_EQ((pixels - operation.filter->kernel) / operation.filter->stride + 1, step.made.rows.size());
            EXPECT_EQ(step.read.front().rows.begin - before - padding, pixels_read(operation, step.made.rows).begin);
        }
        if (step.overwritten) {
            EXPECT_EQ(held[*step.overwritten], step.made);
        }
        held[step.step.last] = step.made;
        for (const size_t map : step.released) held[map] = {};
        for (const auto& [map, piece] : step.kept) {
            EXPECT_TRUE(holds(held[map].rows, piece.rows) && holds(held[map].columns, piece.columns)) << map;
            held[map] = piece;
        }
    }
    for (size_t map = 1; map < graph.output(); ++map) EXPECT_EQ(held[map].pixels(), 0) << map << " is never released";
}

TEST(WindowCrop, PiecesAreReadWhereTheyAre) {
    for_graphs([](const Graph& graph) {
        const int64_t unit = alignment_of(graph), extent = 24 * unit;
        const std::vector<Range> cores{
            {0, 8 * unit}, {8 * unit, 16 * unit}, {20 * unit - 3, extent}, {5 * unit, 5 * unit + 1}, {0, extent}};
        const WindowCrop crop(graph, {extent, extent}, cores, cores, kTorch);
        for (const Range& rows : cores)
            for (const Range& columns : {cores[0], cores[3]})
                expect_sound_pieces(graph, crop.steps_for(rect_of(rows, columns)), extent);
    });
}

TEST(WindowCrop, InPiecesOfTheWholeWindowIsTheUsualForwardCall) {
    for (const NetworkKind network : test::all_networks()) {
        const Graph graph = graph_of(standard_shape(network, 3));
        const Extent window{48, 80};
        const WindowCrop crop(graph, window, {{0, window.h}}, {{0, window.w}}, kTorch);
        EXPECT_EQ(crop.peak_bytes(3), network::peak_bytes(plan_memory(graph, kOnednnPath), 3 * window.pixels()));
        for (const PieceStep& step : crop.steps_for({0, 0, window}))
            EXPECT_FALSE(step.copies || !step.kept.empty()) << step.step.last;
    }
}

TEST(WindowCrop, OnCudaASumTakesAMapMoreThanOnTheCpu) {
    for (const NetworkKind network : test::all_networks()) {
        SCOPED_TRACE(name_of(network));
        const Graph graph = graph_of(standard_shape(network, 3));
        const Extent window{48, 80};
        const CropEngine cuda{ComputedUnit::pixel, kCudnnPiecesPath};
        const WindowCrop crop(graph, window, {{0, window.h}}, {{0, window.w}}, cuda);
        EXPECT_EQ(crop.peak_bytes(3), network::peak_bytes(plan_memory(graph, kCudnnPath), 3 * window.pixels()));
        EXPECT_EQ(crop.copied_bytes({0, 0, window}), 0);
    }
}

// A chain of 3x3 layers reads all that the one before made; only the input is cut out.
TEST(WindowCrop, WithinAnImageAChainCopiesNothingButTheInput) {
    const Graph graph = graph_of(DncnnShape{.depth = 5, .width = 32});
    const Range within{8, 40}, beside{0, 32};
    const WindowCrop crop(graph, {48, 48}, {within, beside}, {within, beside}, kTorch);
    EXPECT_EQ(crop.copied_bytes(rect_of(within, within)), 42 * 42 * graph.channels_in() * 4);
    EXPECT_EQ(crop.copied_bytes(rect_of(beside, within)),
              (38 * 42 * graph.channels_in() + (37 * 40 + 36 * 38 + 35 * 36 + 34 * 34) * 32) * 4)
        << "with a row of zeros above each map";
}

TEST(WindowCrop, BesideTheBorderABlockCopiesWhatItsLayersReadAndWhatItsSumNeeds) {
    GraphBuilder net;
    const size_t x = net.convolve(net.input(1), 4, {.weights = "x"});
    const size_t inner = net.relu(net.convolve(x, 8, {.weights = "first"}));
    net.convolve(net.add(x, net.convolve(inner, 4, {.weights = "second"})), 1, {.weights = "last", .kernel = 1});
    const Range above{0, 32}, within{8, 40};
    const WindowCrop crop(net.graph(), {48, 48}, {above}, {within}, kTorch);
    EXPECT_EQ(crop.copied_bytes(rect_of(above, within)), (36 * 38 + 35 * 36 * 4 + 34 * 34 * 8 + 32 * 32 * 4) * 4);
}

TEST(WindowCrop, InPiecesPeaksWithTheLargestOfItsCores) {
    const Graph graph = graph_of(DncnnShape{.depth = 5, .width = 32});
    const Range large{8, 56}, small{0, 8};
    const WindowCrop crop(graph, {64, 64}, {large, small}, {large, small}, kTorch);
    EXPECT_EQ(crop.peak_bytes(2), crop.peak_bytes(rect_of(large, large), 2));
    EXPECT_GT(crop.peak_bytes(2), crop.peak_bytes(rect_of(small, small), 2));
}

TEST(WindowCrop, AtTheBorderOfAnImageNeedsLess) {
    const Graph graph = graph_of(DncnnShape{.depth = 5, .width = 32});
    const WindowCrop crop(graph, {50, 50}, {{0, 32}, {8, 40}}, {{0, 32}, {8, 40}});
    EXPECT_LT(crop.macs({0, 0, {32, 32}}), crop.macs({0, 8, {32, 32}}));
    EXPECT_LT(crop.macs({8, 0, {32, 32}}), crop.macs({8, 8, {32, 32}}));
}

TEST(WindowCrop, HasRoomForAnyOfItsCoresAndForThoseOfAnother) {
    const Graph graph = graph_of(DncnnShape{.depth = 5, .width = 32});
    const WindowCrop narrow(graph, {64, 64}, {{0, 8}}, {{0, 8}}), wide(graph, {64, 64}, {{16, 48}}, {{16, 48}});
    WindowCrop both = narrow;
    both.include(wide);
    EXPECT_LT(narrow.place(2).bytes, wide.place(2).bytes);
    EXPECT_EQ(both.place(2).bytes, wide.place(2).bytes);
    EXPECT_EQ(both.macs({16, 0, {32, 8}}), WindowCrop(graph, {64, 64}, {{16, 48}}, {{0, 8}}).macs({16, 0, {32, 8}}));
    EXPECT_THROW((void)narrow.rows_of({16, 0, {32, 8}}), Error);
    EXPECT_THROW((void)narrow.columns_of({0, 16, {8, 32}}), Error);
    EXPECT_THROW(both.include(WindowCrop(graph, {64, 72}, {{0, 8}}, {{0, 8}})), Error);
    const Graph other = graph_of(DncnnShape{.depth = 6, .width = 32});
    EXPECT_THROW(both.include(WindowCrop(other, {64, 64}, {{0, 8}}, {{0, 8}})), Error);
    EXPECT_THROW(both.include(WindowCrop(graph, {64, 64}, {{0, 8}}, {{0, 8}}, kTorch)), Error);
}

}  // namespace
}  // namespace pb::network
