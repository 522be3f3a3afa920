#include "network/native_layout.hpp"
#include "random_graph.hpp"
#include "support/graph_text.hpp"
#include "support/memory_peaks.hpp"

#include "patchbench/network/network_shape.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace pb::network {
namespace {

constexpr size_t kNothing = ~size_t{0};

/// An arena in which every line of memory knows which map was written there last.
class MarkedArena {
  public:
    MarkedArena(const Graph& graph, const MemoryPlan& plan, int64_t pixels)
        : graph_(graph),
          plan_(plan),
          pixels_(pixels),
          arena_(place_blocks(plan, pixels)),
          marks_(static_cast<size_t>(arena_.bytes / kArenaAlignment), kNothing) {}

    void run() {
        for (size_t s = 0; s < plan_.steps.size(); ++s) run_step(s);
    }

  private:
    static constexpr size_t kScratch = ~size_t{1};

    void run_step(size_t s) {
        const Step& step = plan_.steps[s];
        const auto operands = maps_read(graph_, step);
        for (const size_t block : scratch_of(s)) mark(block, kScratch);
        for (const size_t map : operands) expect(map, s);
        const auto result = plan_.block_of[step.last];
        if (result) mark(*result, step.last);
        for (const size_t map : operands)
            if (plan_.block_of[map] != result) expect(map, s);
        for (const size_t block : scratch_of(s)) expect_mark(block, kScratch, s);
        if (result && !is_pixelwise(step)) {
            for (const size_t map : operands_of(graph_, step))
                EXPECT_NE(plan_.block_of[map], result) << "step " << s << " overwrites what it reads";
        }
    }

    [[nodiscard]] bool is_pixelwise(const Step& step) const {
        const OperationKind kind = graph_[step.first].kind;
        return kind == OperationKind::relu || kind == OperationKind::add || kind == OperationKind::subtract;
    }

    /// Blocks of a step that hold no map.
    [[nodiscard]] std::vector<size_t> scratch_of(size_t s) const {
        std::vector<size_t> scratch;
        for (size_t b = 0; b < plan_.blocks.size(); ++b) {
            const bool is_map = std::find(plan_.block_of.begin(), plan_.block_of.end(), b) != plan_.block_of.end();
            if (!is_map && plan_.blocks[b].begin <= s && s < plan_.blocks[b].end) scratch.push_back(b);
        }
        return scratch;
    }

    [[nodiscard]] std::pair<size_t, size_t> lines_of(size_t block) const {
        const auto begin = static_cast<size_t>(arena_.offsets[block] / kArenaAlignment);
        const int64_t bytes = round_up(plan_.blocks[block].size.bytes(pixels_), kArenaAlignment);
        return {begin, begin + static_cast<size_t>(bytes / kArenaAlignment)};
    }

    void mark(size_t block, size_t with) {
        const auto [begin, end] = lines_of(block);
        ASSERT_LE(end, marks_.size());
        std::fill(marks_.begin() + static_cast<int64_t>(begin), marks_.begin() + static_cast<int64_t>(end), with);
    }

    void expect_mark(size_t block, size_t with, size_t s) const {
        const auto [begin, end] = lines_of(block);
        for (size_t line = begin; line < end; ++line)
            ASSERT_EQ(marks_[line], with) << "block " << block << " in step " << s;
    }

    void expect(size_t map, size_t s) const {
        if (map == 0) return;  // the caller's
        ASSERT_TRUE(plan_.block_of[map]) << map;
        const MapShape& shape = graph_.shape(map);
        const int64_t bytes = shape.channels * (pixels_ / (shape.scale * shape.scale)) * 4;
        EXPECT_GE(plan_.blocks[*plan_.block_of[map]].size.bytes(pixels_), bytes);
        expect_mark(*plan_.block_of[map], map, s);
    }

    const Graph& graph_;
    const MemoryPlan& plan_;
    int64_t pixels_;
    Arena arena_;
    std::vector<size_t> marks_;
};

void expect_sound(const Graph& graph, const MemoryPath& path, int64_t pixels) {
    SCOPED_TRACE(to_text(graph));
    const MemoryPlan plan = plan_memory(graph, path);
    const Arena arena = place_blocks(plan, pixels);
    int64_t all = 0;
    for (size_t a = 0; a < plan.blocks.size(); ++a) {
        const MemoryBlock& block = plan.blocks[a];
        const int64_t end = arena.offsets[a] + block.size.bytes(pixels);
        all += round_up(block.size.bytes(pixels), kArenaAlignment);
        EXPECT_EQ(arena.offsets[a] % kArenaAlignment, 0);
        EXPECT_LE(end, arena.bytes);
        EXPECT_LT(block.begin, block.end);
        for (size_t b = 0; b < a; ++b) {
            const MemoryBlock& other = plan.blocks[b];
            const bool live_together = block.begin < other.end && other.begin < block.end;
            const bool overlap =
                arena.offsets[a] < arena.offsets[b] + other.size.bytes(pixels) && arena.offsets[b] < end;
            EXPECT_FALSE(live_together && overlap) << a << " and " << b;
        }
    }
    EXPECT_GE(arena.bytes, peak_bytes(plan, pixels));
    EXPECT_LE(arena.bytes, all);
    MarkedArena(graph, plan, pixels).run();
}

TEST(Arena, KeepsEveryMapOfAnyGraphAsLongAsItIsRead) {
    for (uint32_t seed = 0; seed < 300 && !testing::Test::HasFailure(); ++seed) {
        const Graph graph = test::RandomGraph(seed, seed % 3 == 0 ? 16 : 1).make();
        for (const MemoryPath& path :
             {kOnednnPath, kNativePath, kCudnnPath, MemoryPath{.fusing = {.relu = false, .sum = false}},
              MemoryPath{.copies_kernels = false, .copies_output = false}})
            expect_sound(graph, path, 64 * (1 + seed % 7));
    }
}

TEST(Arena, OfTheNetworksIsNoLargerThanTheirPeak) {
    for (const auto& [kind, name] : enum_table<NetworkKind>())
        for (const MemoryPath& path : {kOnednnPath, kCudnnPath, kFusedCudnnPath, kNativePath}) {
            const Graph graph = graph_of(standard_shape(kind, 3));
            const MemoryPlan plan = plan_memory(graph, path);
            for (int64_t edge = 8; edge <= 2048; edge += 40) {
                const int64_t pixels = edge * edge;
                EXPECT_EQ(place_blocks(plan, pixels).bytes, round_up(peak_bytes(plan, pixels), kArenaAlignment))
                    << name_of(kind) << " " << edge;
            }
            expect_sound(graph, path, int64_t{64} * 64);
        }
}

TEST(Arena, PutsABlockIntoTheSmallestGapThatHoldsIt) {
    MemoryPlan plan;
    plan.steps.resize(3);
    const auto block = [&](int64_t lines, size_t begin, size_t end) {
        plan.blocks.push_back({{0, lines * kArenaAlignment}, begin, end});
    };
    block(10, 0, 1);  // above it, in the next steps, a gap of 10 below 9
    block(9, 0, 3);
    block(8, 0, 1);  // a gap of 8 between 9 and 7
    block(7, 0, 3);
    block(5, 1, 3);
    block(4, 1, 3);
    const Arena arena = place_blocks(plan, 0);
    const auto lines = [&](size_t i) { return arena.offsets[i] / kArenaAlignment; };
    EXPECT_EQ(lines(1), 10);
    EXPECT_EQ(lines(3), 27);
    EXPECT_EQ(lines(4), 19) << "8 lines are free there, and 10 below";
    EXPECT_EQ(lines(5), 0) << "5 lines fit there only";
    EXPECT_EQ(arena.bytes, 34 * kArenaAlignment);
}

TEST(NativeLayer, OfStrideTwoHasScratchForAllColumnsThatItReads) {
    NativeConvolution layer{{.out_channels = 32, .in_channels = 4, .kernel = 3}, {}};
    const int64_t of_stride_1 = layer.scratch();
    layer.stride = 2;
    EXPECT_EQ(layer.scratch() - of_stride_1, 3 * (kDirectPixels - 1) * 4);
}

TEST(NativeLayer, IsNarrowOnlyWhereItsInputFillsVectors) {
    for (const auto& [channels, method] : {std::pair{32, NativeMethod::narrow}, {20, NativeMethod::direct}})
        EXPECT_EQ((NativeConvolution{{.out_channels = 3, .in_channels = channels, .kernel = 1}, {}}).method(), method);
}

TEST(NativeLayer, SharesOfWeightsHoldAllOfThem) {
    const Graph graph = DncnnShape{.depth = 3, .width = 8}.graph();
    for (const int64_t sharers : {3, 7})
        EXPECT_GE(sharers * native_weight_bytes(graph, {}, sharers), native_weight_bytes(graph, {}, 1)) << sharers;
}

}  // namespace
}  // namespace pb::network
