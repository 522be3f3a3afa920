#include "network/native_layout.hpp"
#include "random_graph.hpp"
#include "support/graph_text.hpp"

#include "patchbench/network/memory_plan.hpp"
#include "patchbench/network/network_shape.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace pb::network {
namespace {

using testing::ElementsAre;

/// x = convolution(input), then ReLU and a sum; a difference ends it.
struct Tiny {
    GraphBuilder net;
    size_t image = net.input(2);
    size_t x = net.convolve(image, 2, {.weights = "x"});
};

TEST(Steps, FuseWhatTheNetworksFuse) {
    Tiny tiny;                                                                                    // input 0, x 1
    const size_t inner = tiny.net.relu(tiny.net.convolve(tiny.x, 2, {.weights = "first"}));       // 2, 3
    const size_t sum = tiny.net.add(tiny.x, tiny.net.convolve(inner, 2, {.weights = "second"}));  // 4, 5
    tiny.net.add(tiny.net.convolve(sum, 2, {.weights = "last"}), tiny.image);                     // 6, 7
    const Graph graph = tiny.net.graph();
    const std::vector<Step> all = steps_of(graph, {});
    EXPECT_THAT(all, ElementsAre(Step{1, 1}, Step{2, 3}, Step{4, 5}, Step{6, 6}, Step{7, 7}))
        << "the sum that makes the output is a step of its own";
    EXPECT_THAT(maps_read(graph, all[1]), ElementsAre(1));
    EXPECT_THAT(maps_read(graph, all[2]), ElementsAre(3, 1));
    EXPECT_EQ(map_summed(graph, all[2]), 1);
    EXPECT_EQ(map_summed(graph, all[1]), std::nullopt);
    EXPECT_EQ(map_summed(graph, all[4]), std::nullopt);
    EXPECT_THAT(steps_of(graph, {.sum = false}),
                ElementsAre(Step{1, 1}, Step{2, 3}, Step{4, 4}, Step{5, 5}, Step{6, 6}, Step{7, 7}));
    EXPECT_THAT(steps_of(graph, {.relu = false}),
                ElementsAre(Step{1, 1}, Step{2, 2}, Step{3, 3}, Step{4, 5}, Step{6, 6}, Step{7, 7}));
}

TEST(Steps, KeepAMapThatIsReadTwice) {
    Tiny tiny;
    const size_t kept = tiny.net.add(tiny.net.relu(tiny.x), tiny.x);  // 2, 3: x is read by both
    tiny.net.relu(tiny.net.convolve(kept, 2, {.weights = "last"}));   // 4, 5
    EXPECT_THAT(steps_of(tiny.net.graph(), {}), ElementsAre(Step{1, 1}, Step{2, 2}, Step{3, 3}, Step{4, 5}));
    Tiny twice;
    twice.net.relu(twice.net.add(twice.x, twice.x));
    EXPECT_THAT(steps_of(twice.net.graph(), {}), ElementsAre(Step{1, 1}, Step{2, 2}, Step{3, 3}));
}

TEST(Steps, FuseTheLaterOfTwoConvolutionsAndNoTransposedOne) {
    Tiny tiny;
    const size_t y = tiny.net.convolve(tiny.image, 2, {.weights = "y"});          // 2
    const size_t pooled = tiny.net.max_pool(tiny.net.add(y, tiny.x));             // 3, 4
    tiny.net.relu(tiny.net.relu(tiny.net.convolve_transposed(pooled, 2, "up")));  // 5, 6, 7
    const std::vector<Step> steps = steps_of(tiny.net.graph(), {});
    EXPECT_THAT(steps, ElementsAre(Step{1, 1}, Step{2, 3}, Step{4, 4}, Step{5, 5}, Step{6, 6}, Step{7, 7}));
    EXPECT_EQ(map_summed(tiny.net.graph(), steps[1]), 1);
}

/// Two maps of `a` and `b` channels, concatenated.
struct Joined {
    Joined(int64_t a, int64_t b) {
        first = net.convolve(image, a, {.weights = "a"});
        second = net.convolve(image, b, {.weights = "b"});
        both = net.concatenate(first, second);
    }
    GraphBuilder net;
    size_t image = net.input(2), first, second, both;  // 0, 1, 2, 3
};

TEST(Steps, FuseAConcatenationWithAllItsReaders) {
    Joined joined(32, 18);
    joined.net.relu(joined.net.convolve(joined.both, 16, {.weights = "c"}));                // 4, 5
    joined.net.add(joined.second, joined.net.convolve(joined.both, 18, {.weights = "d"}));  // 6, 7
    joined.net.concatenate(5, 7);
    const Graph graph = joined.net.graph();
    const std::vector<Step> steps = steps_of(graph, kNativePath.fusing);
    EXPECT_THAT(steps, ElementsAre(Step{1, 1}, Step{2, 2}, Step{4, 5, true}, Step{6, 7, true}, Step{8, 8}));
    EXPECT_THAT(operands_of(graph, steps[2]), ElementsAre(1, 2));
    EXPECT_THAT(maps_read(graph, steps[3]), ElementsAre(1, 2, 2));
    EXPECT_EQ(last_readers_of(graph, steps)[1], 3U);
    EXPECT_EQ(steps_of(graph, {})[2], (Step{3, 3})) << "other engines";
}

TEST(Steps, KeepAConcatenationThatAKernelCannotReadInParts) {
    const auto is_fused = [](int64_t a, int64_t b, auto read) {
        Joined joined(a, b);
        read(joined.net, joined.both);
        const std::vector<Step> steps = steps_of(joined.net.graph(), kNativePath.fusing);
        return std::ranges::count(steps, Step{3, 3}) == 0;
    };
    const auto convolve = [](GraphBuilder& net, size_t x) { return net.convolve(x, 16, {.weights = "c"}); };
    EXPECT_TRUE(is_fused(16, 16, convolve));
    EXPECT_FALSE(is_fused(14, 32, convolve)) << "fills no vector";
    EXPECT_FALSE(is_fused(32, 17, convolve)) << "not whole pairs";
    EXPECT_FALSE(
        is_fused(32, 32, [](GraphBuilder& net, size_t x) { net.convolve(x, 16, {.weights = "c", .kernel = 1}); }));
    EXPECT_FALSE(is_fused(32, 32, [](GraphBuilder& net, size_t x) { net.convolve(x, 3, {.weights = "c"}); }));
    EXPECT_FALSE(is_fused(32, 32, [&](GraphBuilder& net, size_t x) {
        net.concatenate(convolve(net, x), net.upsample(net.max_pool(x)));
    })) << "has another reader";
    EXPECT_FALSE(is_fused(32, 32, [](GraphBuilder&, size_t) {})) << "the output";
    EXPECT_FALSE(
        is_fused(32, 32, [&](GraphBuilder& net, size_t x) { net.add(net.convolve(x, 64, {.weights = "c"}), x); }));
}

TEST(Steps, OfDrunetAreItsLayers) {
    size_t relus = 0, sums = 0, alone = 0;
    const Graph graph = DrunetShape{}.graph();
    for (const Step& step : steps_of(graph, {})) {
        if (!step.is_fused())
            ++alone;
        else
            ++(graph[step.last].kind == OperationKind::relu ? relus : sums);
    }
    EXPECT_EQ(relus, 28U);
    EXPECT_EQ(sums, 28U);
    EXPECT_EQ(alone, 2U + 3U + 3U + 4U) << "head and tail, three ways down and up, four skips";
}

TEST(Steps, ComputeEveryOperationOnceAndAfterWhatItReads) {
    for (uint32_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
        const Graph graph = test::RandomGraph(seed, seed % 2 == 0 ? 1 : 16).make();
        SCOPED_TRACE(to_text(graph));
        for (const Fusing fusing : {Fusing{}, Fusing{.relu = false}, Fusing{.sum = false}, kNativePath.fusing}) {
            std::vector<int> computed(graph.size());
            std::vector<bool> is_made(graph.size());
            is_made[0] = true;
            for (const Step& step : steps_of(graph, fusing)) {
                for (const size_t map : maps_read(graph, step)) EXPECT_TRUE(is_made[map]) << map;
                ++computed[step.first];
                if (step.is_fused()) ++computed[step.last];
                is_made[step.last] = true;
                if (!step.joins) continue;
                const size_t concatenation = graph[step.first].operands.front();
                EXPECT_FALSE(is_made[concatenation]) << concatenation;
                computed[concatenation] = 1;  // by each of its readers
            }
            for (size_t i = 1; i < graph.size(); ++i) EXPECT_EQ(computed[i], 1) << i;
            EXPECT_TRUE(is_made[graph.output()]);
        }
    }
}

}  // namespace
}  // namespace pb::network
