#include "network/parts/band_schedule.hpp"

#include "network/parts/band_pieces.hpp"
#include "network/receptive_field.hpp"
#include "support/computed_graphs.hpp"
#include "support/graph_text.hpp"
#include "support/relatives.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/graph.hpp"
#include "patchbench/network/network_shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace pb::network {
namespace {

template <class Check>
void for_shapes(Check check) {
    for (const NetworkShape& shape : test::tiled_relatives()) {
        const Graph graph = graph_of(shape);
        SCOPED_TRACE(to_text(graph));
        check(graph, alignment_of(graph));
    }
}

std::vector<size_t> stored_maps(const Graph& graph) {
    std::vector<size_t> maps{0};
    for (const Step& step : steps_of(graph, kNativePath.fusing)) maps.push_back(step.last);
    return maps;
}

TEST(ComputedRanges, HoldWhatTheOutputDependsOnInWholeTiles) {
    for_shapes([](const Graph& graph, int64_t alignment) {
        const Range output{16 * alignment, 19 * alignment};
        const auto required = required_ranges(graph, output), computed = computed_ranges(graph, output);
        for (const size_t map : stored_maps(graph)) {
            EXPECT_LE(computed[map].begin, required[map].begin) << map;
            EXPECT_GE(computed[map].end, required[map].end) << map;
        }
        for (const Step& step : steps_of(graph, kNativePath.fusing)) {
            const bool tiled = is_convolution(graph[step.first].kind) &&
                               native_convolution(graph, step.first).method() == NativeMethod::winograd;
            if (!tiled) continue;
            EXPECT_EQ(computed[step.last].begin % kWinogradTile, 0);
            EXPECT_EQ(computed[step.last].end % kWinogradTile, 0);
        }
    });
}

// DnCNN-3 of width 32: the last layer makes single rows, those before it tiles of four.
TEST(ComputedRanges, OfAChain) {
    const Graph graph = graph_of(DncnnShape{.depth = 4, .width = 32, .residual = DncnnResidual::none});
    std::vector<Range> maps;
    for (const Step& step : steps_of(graph, kNativePath.fusing))
        maps.push_back(computed_ranges(graph, {20, 24})[step.last]);
    EXPECT_EQ(maps, (std::vector<Range>{{11, 33}, {12, 32}, {16, 28}, {20, 24}}));
    EXPECT_EQ(computed_ranges(graph, {20, 24}).front(), (Range{10, 34}));
    EXPECT_EQ(computed_ranges(graph, {20, 24}, 30).front(), (Range{10, 30}));
    EXPECT_EQ(computed_ranges(graph, {0, 4}, 30).front(), (Range{0, 14}));
}

TEST(ComputedRanges, OfTheWholeImageAreAllItsRows) {
    for_shapes([](const Graph& graph, int64_t alignment) {
        const int64_t extent = 9 * alignment;
        const auto ranges = computed_ranges(graph, {0, extent}, extent);
        for (size_t i = 0; i < graph.size(); ++i) EXPECT_EQ(ranges[i], (Range{0, extent / graph.shape(i).scale})) << i;
        EXPECT_DOUBLE_EQ(macs_of(graph, ranges, 3 * alignment),
                         mac_per_pixel(graph) * static_cast<double>(extent * 3 * alignment));
    });
}

class BandSchedules : public testing::TestWithParam<int64_t> {};  // height in alignments
INSTANTIATE_TEST_SUITE_P(Heights, BandSchedules, testing::Values(1, 7, 40, 101));

TEST_P(BandSchedules, MakeEachRowOnceWhenItsOperandsAreInMemory) {
    for_shapes([](const Graph& graph, int64_t alignment) {
        const int64_t extent = GetParam() * alignment;
        for (const int64_t band : {alignment, 4 * alignment})
            for (const auto& [rows, unit] :
                 {std::pair{Range{0, extent}, ComputedUnit::tile},
                  {Range{0, extent}, ComputedUnit::pixel},
                  {Range{extent / 2 / alignment * alignment, extent}, ComputedUnit::tile},
                  {Range{extent / 2 / alignment * alignment, extent}, ComputedUnit::pixel}}) {
                const BandSchedule schedule(
                    graph, {.rows = rows, .band = band, .image = {extent, 8 * alignment}, .unit = unit});
                for (const size_t map : stored_maps(graph)) {
                    int64_t next = schedule.computed()[map].begin;
                    for (int64_t step = 0; step < schedule.num_steps(); ++step) {
                        EXPECT_EQ(schedule.made(step, map).begin, next);
                        next = schedule.made(step, map).end;
                        EXPECT_LE(schedule.held(step, map).begin, schedule.kept(step, map).begin);
                    }
                    EXPECT_EQ(next, schedule.computed()[map].end);
                }
                for (int64_t step = 0; step < schedule.num_steps(); ++step)
                    for (const Step& of_network : steps_of(graph, fusing_of(unit))) {
                        const Range made = schedule.made(step, of_network.last);
                        if (made.size() == 0) continue;
                        const Range read = pixels_read(graph[of_network.first], made);
                        if (const auto other = map_summed(graph, of_network)) {
                            EXPECT_LE(schedule.held(step, *other).begin, made.begin) << *other;
                            EXPECT_GE(schedule.held(step, *other).end, made.end) << *other;
                        }
                        for (const size_t map : operands_of(graph, of_network)) {
                            const Range held = schedule.held(step, map);
                            const int64_t height = extent / graph.shape(map).scale;
                            EXPECT_LE(held.begin, std::max<int64_t>(0, read.begin)) << map;
                            EXPECT_GE(held.end, std::min(height, read.end)) << map;
                        }
                    }
            }
    });
}

TEST(BandSchedule, MakesOneBandOfTheOutputAStepAndTakesNoMoreOfTheInput) {
    for_shapes([](const Graph& graph, int64_t alignment) {
        const int64_t band = 4 * kWinogradTile * alignment;
        const BandSchedule schedule(
            graph, {.rows = {0, 10 * band + alignment}, .band = band, .image = {10 * band + alignment, alignment}});
        int64_t with_output = 0;
        for (int64_t step = 0; step < schedule.num_steps(); ++step) {
            const int64_t size = schedule.made(step, graph.output()).size();
            EXPECT_TRUE(size == 0 || size == band || size == alignment) << size;
            with_output += size > 0 ? 1 : 0;
        }
        EXPECT_EQ(with_output, 11);
        EXPECT_DOUBLE_EQ(schedule.whole_bands(), 10 + static_cast<double>(alignment) / static_cast<double>(band));
        EXPECT_EQ(schedule.most_input_rows(), band);
        EXPECT_GE(schedule.busiest_part() * static_cast<double>(schedule.num_steps()), schedule.whole_bands());
        EXPECT_LE(schedule.busiest_part(), 1 + 1e-9) << "of the work of a band";
    });
}

TEST(BandMemory, DoesNotGrowWithTheHeight) {
    for_shapes([](const Graph& graph, int64_t alignment) {
        const auto bytes = [&](int64_t height) {
            return plan_bands({graph, {.rows = {0, height}, .band = 32, .image = {height, 8 * alignment}}}).arena.bytes;
        };
        EXPECT_EQ(bytes(1024), bytes(64 * 1024));
        EXPECT_LT(bytes(32), bytes(1024));
    });
}

// Step 0 of DRUNet is its head, whose map waits for the whole way down and up again; step 1 is read by the next one.
TEST(BandMemory, KeepsRowsOfSkipsInRings) {
    const Graph graph = graph_of(DrunetShape{.widths = {32, 64, 96, 32}, .blocks = 2});
    const BandSchedule schedule(graph, {.rows = {0, 2048}, .band = 32, .image = {2048, 64}});
    const BandMemory memory = plan_bands(schedule);
    const auto steps = steps_of(graph, kNativePath.fusing);
    const BandMap &head = memory.maps[steps[0].last], &next = memory.maps[steps[1].last];
    EXPECT_TRUE(head.is_ring);
    EXPECT_FALSE(head.kept_block);
    EXPECT_EQ(head.places % kWinogradTile, 0);
    EXPECT_FALSE(next.is_ring);
    EXPECT_TRUE(next.kept_block);
    EXPECT_EQ(next.places, 5 + 32);  // kept are a row above a tile, and the tile that the next layer is behind
    EXPECT_EQ(memory.maps[graph.output()].places, 0) << "its rows are written to the caller";
    EXPECT_EQ(rows_stored(schedule)[steps[0].last], 32) << "a chunk for each step";
    EXPECT_EQ(rows_stored(schedule)[steps[1].last], 5);
}

// A layer that reads the top rows of an image works on a copy with a row of zeros. Its map is given up before it makes
// its own, here beside x, which is needed later.
TEST(BandMemory, OfPiecesGivesUpAMapOnceItIsCopied) {
    GraphBuilder net;
    const size_t x = net.convolve(net.input(1), 4, {.weights = "x"});
    const size_t wide = net.relu(net.convolve(x, 32, {.weights = "wide"}));
    const size_t sum = net.add(net.convolve(wide, 4, {.weights = "narrow"}), x);
    net.convolve(net.concatenate(sum, x), 1, {.weights = "last", .kernel = 1});
    const BandShape top{.rows = {0, 64}, .band = 64, .image = {128, 8}, .unit = ComputedUnit::pixel};
    const int64_t row_bytes = 8 * 4;  // of a channel
    EXPECT_EQ(peak_of_bands({net.graph(), top}, kOnednnPath), (66 * 4 + 65 * 32 + 66 * 32) * row_bytes)
        << "x, the wide map and its copy";
}

// What later bands need of both is copied before the layer copies what it reads.
TEST(BandMemory, OfPiecesCopiesTheKeptRowsOfASumBeforeALayer) {
    const BandShape top{.rows = {0, 128}, .band = 64, .image = {256, 8}, .unit = ComputedUnit::pixel};
    const int64_t x = 74 + 10, wide = 65 + 66 + 2, others = 8 * 2 + 2;  // rows: of maps, of a copy, and kept
    EXPECT_EQ(peak_of_bands({test::sum_over_kept_rows(), top}, kOnednnPath), (x * 32 + wide * 64 + others) * 8 * 4);
}

// Beyond the copies of kernels, which are the same for any width.
TEST(BandMemory, OfPiecesGrowsWithTheWidthOfTheImage) {
    for_shapes([](const Graph& graph, int64_t alignment) {
        const auto bytes = [&](int64_t width, RowMemory memory) {
            const BandShape shape{.rows = {0, 256}, .band = 8, .image = {256, width}, .unit = ComputedUnit::pixel};
            return peak_of_bands({graph, shape}, kOnednnPath, memory);
        };
        const int64_t width = 1024 * alignment;
        for (const RowMemory memory : {RowMemory::own, RowMemory::fixed})
            EXPECT_EQ(bytes(3 * width, memory) - bytes(2 * width, memory),
                      bytes(2 * width, memory) - bytes(width, memory));
    });
}

// The copy of the head is computed together with the sum that reads it, and is not stored at all.
TEST(LateMaps, OfDrunetAreReadByItsLastSum) {
    const Graph graph = graph_of(DrunetShape{.widths = {32, 64, 96, 32}, .blocks = 2});
    const auto late = with_late_map(graph);
    ASSERT_TRUE(late.has_value());
    ASSERT_EQ(late->graph.size(), graph.size() + 1);
    const size_t copy = graph.output() - 1, sum = copy + 1;  // before the last two operations of the network
    EXPECT_EQ(late->graph[copy].filter->weights, "m_head again");
    EXPECT_EQ(late->origin[copy], 1U);
    EXPECT_EQ(late->graph[sum].operands.back(), copy);
    EXPECT_EQ(late->origin[sum], sum - 1);
    const auto steps = steps_of(late->graph, kNativePath.fusing);
    EXPECT_EQ(std::ranges::count(steps, Step{copy, sum}), 1);
    for (size_t i = 0; i < late->graph.size(); ++i)
        EXPECT_EQ(late->graph.shape(i), graph.shape(late->origin[i])) << "operation " << i;
}

TEST(LateMaps, AreNotMadeWhereNothingWaits) {
    EXPECT_FALSE(with_late_map(graph_of(DncnnShape{.depth = 5, .width = 32})).has_value());
    EXPECT_FALSE(with_late_map(graph_of(UnetShape{.widths = {32, 64, 32}})).has_value());
}

TEST(LateMaps, AreReadByTheConcatenationThatReadsThemLast) {
    GraphBuilder net;
    const size_t head = net.relu(net.convolve(net.input(1), 32, {.weights = "head"}));
    const size_t x = net.convolve(head, 16, {.weights = "x"});
    const size_t both = net.concatenate(head, x);
    const size_t z = net.convolve(both, 32, {.weights = "z"});
    GraphBuilder summed = net;
    net.convolve(z, 1, {.weights = "last"});
    const auto late = with_late_map(net.graph());
    ASSERT_TRUE(late.has_value());
    EXPECT_EQ(late->origin[late->graph[both + 2].operands.front()], head);
    EXPECT_NE(late->graph[both + 2].operands.front(), head);
    summed.convolve(summed.add(z, head), 1, {.weights = "last"});
    EXPECT_FALSE(with_late_map(summed.graph())) << "one step would read the map and its copy";
}

TEST(LateMaps, AreTheirOwnOriginsWithout) {
    const Graph graph = graph_of(UnetShape{.widths = {32, 64, 32}});
    const LateGraph same = without_late_map(graph);
    EXPECT_EQ(same.graph, graph);
    ASSERT_EQ(same.origin.size(), graph.size());
    for (size_t i = 0; i < graph.size(); ++i) EXPECT_EQ(same.origin[i], i);
}

TEST(LateMaps, OfAScheduleHaveOriginsInItsNetworkOnly) {
    const Graph graph = graph_of(DrunetShape{.widths = {32, 64, 96, 32}, .blocks = 2});
    const LateGraph late = *with_late_map(graph);
    const BandShape shape{.rows = {0, 64}, .band = 32, .image = {64, 8}};
    const BandSchedule schedule(graph, late, shape);
    EXPECT_EQ(schedule.graph(), late.graph);
    EXPECT_EQ(schedule.origin_in(graph), late.origin);
    EXPECT_THROW((void)schedule.origin_in(late.graph), Error);
    EXPECT_THROW((void)BandSchedule(graph, shape).origin_in(late.graph), Error);
}

using BytesOf = std::function<int64_t(const BandSchedule&)>;

/// `saved`: bytes of a column in bands of 64 rows that wait no more.
void expect_less_memory(ComputedUnit unit, const BytesOf& bytes, int64_t saved) {
    const Graph graph = graph_of(DrunetShape{});
    const LateGraph late_graph = *with_late_map(graph);
    const BandShape high{.rows = {0, 4096}, .band = 64, .image = {4096, 256}, .unit = unit};
    const BandSchedule usual(graph, high), late = smallest_schedule(graph, high, bytes);
    EXPECT_EQ(late.graph(), late_graph.graph);
    EXPECT_LT(bytes(late), bytes(usual) - saved * 256) << "of 64 channels wait only 4";
    const BandShape low{.rows = {0, 8}, .band = 8, .image = {8, 256}, .unit = unit};
    EXPECT_EQ(bytes(smallest_schedule(graph, low, bytes)),
              std::min(bytes({graph, low}), bytes({graph, late_graph, low})));
    EXPECT_NEAR(late.macs() / usual.macs(), 1, 0.002);
}

TEST(LateMaps, TakeLessMemoryInImagesOfManyBands) {
    expect_less_memory(
        ComputedUnit::tile, [](const auto& schedule) { return plan_bands(schedule).arena.bytes; }, int64_t{40} * 1024);
    for (const MemoryPath& path : {kOnednnPath, kCudnnPiecesPath})
        expect_less_memory(
            ComputedUnit::pixel, [&](const auto& schedule) { return peak_of_bands(schedule, path); },
            int64_t{40} * 1024);
}

}  // namespace
}  // namespace pb::network
