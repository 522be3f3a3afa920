#include "patchbench/network/memory_plan.hpp"

#include "network/native_layout.hpp"
#include "random_graph.hpp"
#include "support/graph_text.hpp"
#include "support/memory_peaks.hpp"

#include "patchbench/network/network_facts.hpp"

#include <gmock/gmock.h>

#include <map>

namespace pb::network {
namespace {

using testing::ElementsAre;

constexpr int64_t kernel_bytes(int64_t out, int64_t in, int64_t edge = 3) { return out * in * edge * edge * 4; }

/// Of the standard networks, measured with the counting allocator (which shows 12 to 20 kB of oneDNN's own besides):
/// maps of full extent, and the largest kernels with the maps that wait for the way up.
TEST(MemoryPlan, PeaksWhereTheAllocatorDoes) {
    const std::map<NetworkKind, std::vector<MemorySize>> measured{
        {kind_of<DrunetShape>(), {{768, kernel_bytes(64, 64)}, {544, kernel_bytes(512, 512)}}},
        {kind_of<UnetShape>(), {{1024, kernel_bytes(64, 128)}, {512, kernel_bytes(512, 512)}}},
        {kind_of<DncnnShape>(), {{512, kernel_bytes(64, 64)}}}};
    for (const auto& [kind, peaks] : measured)
        for (const int64_t channels : {1, 3})
            for (const MemoryPath& path : {kOnednnPath, kFusedCudnnPath})
                EXPECT_EQ(network_peaks(standard_shape(kind, channels), path), peaks) << name_of(kind);
}

/// A map at full extent, and one of 512 channels.
TEST(MemoryPlan, HoldsOneMapMoreWhereSumsAreApart) {
    EXPECT_THAT(network_peaks(standard_shape(kind_of<DrunetShape>(), 3), kCudnnPath),
                ElementsAre(MemorySize{768 + 256, kernel_bytes(64, 64)}, MemorySize{544 + 32, kernel_bytes(512, 512)}));
    for (const NetworkKind kind : {kind_of<UnetShape>(), kind_of<DncnnShape>()})
        EXPECT_EQ(network_peaks(standard_shape(kind, 3), kCudnnPath),
                  network_peaks(standard_shape(kind, 3), kFusedCudnnPath))
            << name_of(kind);
}

/// input 0, x 1, first 2, ReLU 3, second 4, sum 5, last 6
Graph one_block(bool ends_with_sum = false) {
    GraphBuilder net;
    const size_t image = net.input(1);
    const size_t x = net.convolve(image, 4, {.weights = "x"});
    const size_t inner = net.relu(net.convolve(x, 8, {.weights = "first"}));
    const size_t sum = net.add(x, net.convolve(inner, 4, {.weights = "second"}));
    const size_t last = net.convolve(sum, 1, {.weights = "last", .kernel = 1});
    if (ends_with_sum) net.add(last, image);
    return net.graph();
}

TEST(MemoryPlan, CountsWhatLivesInEachStep) {
    EXPECT_THAT(live_sizes(plan_memory(one_block(), kOnednnPath)),
                ElementsAre(MemorySize{16, kernel_bytes(4, 1)}, MemorySize{16 + 32, kernel_bytes(8, 4)},
                            MemorySize{16 + 32, kernel_bytes(4, 8)}, MemorySize{16 + 4, kernel_bytes(1, 4, 1)}));
    EXPECT_THAT(live_sizes(plan_memory(one_block(), kCudnnPath)),
                ElementsAre(MemorySize{16, kernel_bytes(4, 1)}, MemorySize{16 + 32, kernel_bytes(8, 4)},
                            MemorySize{16 + 32 + 16, kernel_bytes(4, 8)}, MemorySize{16 + 16, 0},
                            MemorySize{16 + 4, kernel_bytes(1, 4, 1)}));
    const MemoryPath spare{.copies_kernels = false, .copies_output = false, .value_bytes = 2};
    EXPECT_THAT(live_sizes(plan_memory(one_block(), spare)),
                ElementsAre(MemorySize{8, 0}, MemorySize{24, 0}, MemorySize{24, 0}, MemorySize{8, 0}));
    EXPECT_THAT(
        live_sizes(plan_memory(one_block(true), spare)),
        ElementsAre(MemorySize{8, 0}, MemorySize{24, 0}, MemorySize{24, 0}, MemorySize{10, 0}, MemorySize{2, 0}));
}

TEST(MemoryPlan, SharesABlockWhereASumIsMadeInPlace) {
    const auto plan = plan_memory(one_block(), kOnednnPath);
    EXPECT_EQ(plan.block_of[0], std::nullopt) << "the caller's";
    EXPECT_EQ(plan.block_of[2], std::nullopt) << "fused away";
    EXPECT_EQ(plan.block_of[5], plan.block_of[1]);
    EXPECT_NE(plan.block_of[3], plan.block_of[1]);
    EXPECT_NE(plan.block_of[6], std::nullopt);
    EXPECT_EQ(plan_memory(one_block(true), kOnednnPath).block_of[7], std::nullopt) << "the caller's";
}

TEST(MemoryPlan, OverwritesNeitherTheInputNorWhatIsReadLater) {
    GraphBuilder net;
    const size_t image = net.input(1);
    const size_t rectified = net.relu(image);  // not in place: the input is the caller's
    const size_t x = net.convolve(image, 1, {.weights = "x"});
    const size_t own = net.add(x, net.convolve(x, 1, {.weights = "y"}));  // reads x around each pixel
    const size_t kept = net.add(own, net.convolve(rectified, 1, {.weights = "z"}));
    net.add(own, net.add(kept, image));
    const auto plan = plan_memory(net.graph(), {.copies_kernels = false});
    ASSERT_TRUE(plan.block_of[rectified] && plan.block_of[x] && plan.block_of[own] && plan.block_of[kept]);
    EXPECT_NE(plan.block_of[own], plan.block_of[x]);
    EXPECT_NE(plan.block_of[kept], plan.block_of[own]);
    EXPECT_EQ(plan.block_of[kept + 1], plan.block_of[kept]);
}

/// input 0, x 1, y 2, both 3, z 4, sum 5
Graph joined_and_summed() {
    GraphBuilder net;
    const size_t image = net.input(1);
    const size_t x = net.convolve(image, 16, {.weights = "x"}), y = net.convolve(image, 32, {.weights = "y"});
    const size_t sum = net.add(net.convolve(net.concatenate(x, y), 32, {.weights = "z"}), y);
    net.convolve(sum, 1, {.weights = "last"});
    return net.graph();
}

TEST(MemoryPlan, HasNoMapOfAConcatenationThatConvolutionsReadInParts) {
    const Graph graph = joined_and_summed();
    const auto plan = plan_memory(graph, kNativePath);
    EXPECT_EQ(plan.block_of[3], std::nullopt);
    EXPECT_THAT(live_sizes(plan), ElementsAre(MemorySize{4 * 16, 0}, MemorySize{4 * (16 + 32), 0},
                                              MemorySize{4 * (16 + 32 + 32), 0}, MemorySize{4 * 32, 0}));
    EXPECT_NE(plan.block_of[5], plan.block_of[2]) << "the convolution reads the neighbours of what the sum reads";
    const auto of_torch = plan_memory(graph, kOnednnPath);
    EXPECT_NE(of_torch.block_of[3], std::nullopt);
    EXPECT_EQ(of_torch.block_of[5], of_torch.block_of[2]);
}

TEST(MemoryPlan, CountsAQuarterMoreForTransposedConvolutionsByTaps) {
    GraphBuilder net;
    const size_t half = net.max_pool(net.convolve(net.input(1), 4, {.weights = "x"}));
    net.relu(net.convolve_transposed(half, 8, "up"));
    const Graph graph = net.graph();
    EXPECT_EQ(live_sizes(plan_memory(graph, kFusedCudnnPath))[2], (MemorySize{4 + 32, kernel_bytes(8, 4, 2)}));
    EXPECT_EQ(live_sizes(plan_memory(graph, kOnednnPath))[2], (MemorySize{4 + 32 + 8, kernel_bytes(8, 4, 1)}));
}

TEST(MemoryPlan, PeaksAreThoseOfAllSteps) {
    for (uint32_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
        const Graph graph = test::RandomGraph(seed).make();
        SCOPED_TRACE(to_text(graph));
        for (const MemoryPath& path : {kOnednnPath, kCudnnPath}) {
            const MemoryPlan plan = plan_memory(graph, path);
            const std::vector<MemorySize> peaks = peak_sizes(plan);
            for (size_t i = 1; i < peaks.size(); ++i) {
                EXPECT_GT(peaks[i - 1].bytes_per_pixel, peaks[i].bytes_per_pixel);
                EXPECT_LT(peaks[i - 1].fixed_bytes, peaks[i].fixed_bytes);
            }
            for (int64_t pixels = 0; pixels < 1'000'000; pixels = pixels * 3 / 2 + 64) {
                int64_t largest = 0;
                for (const MemorySize& size : peaks) largest = std::max(largest, size.bytes(pixels));
                EXPECT_EQ(largest, peak_bytes(plan, pixels)) << pixels;
            }
        }
    }
}

}  // namespace
}  // namespace pb::network
