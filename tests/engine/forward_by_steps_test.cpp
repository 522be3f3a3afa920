// A forward call whose steps are timed one by one gives the pixels of any other, and names the steps of the graph.
#include "network/native_layout.hpp"
#include "support/denoise_batch.hpp"
#include "support/graph_text.hpp"
#include "support/relatives.hpp"

#include "patchbench/network/memory_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace pb::engine {
namespace {

constexpr uint64_t kSeed = 7;

struct Timed {
    std::vector<float> pixels;
    std::vector<StepTime> steps;
};

Timed run_by_steps(const Weights& weights, const EngineOptions& options, std::vector<float> values,
                   const Shape& shape) {
    const Shape out_shape = test::output_shape(weights, shape);
    Timed timed{std::vector<float>(static_cast<size_t>(out_shape.elements()), -1.0F), {}};
    device::Stream stream(options.device);
    timed.steps = make_denoiser(weights, options)
                      ->forward_by_steps(test::view_of(values.data(), shape, options),
                                         test::view_of(timed.pixels.data(), out_shape, options), stream);
    return timed;
}

TEST(ForwardBySteps, GivesThePixelsOfAnyCallAndTheStepsOfTheGraph) {
    for (const auto& [engine, fusing] :
         {std::pair{EngineKind::torch, network::kOnednnPath.fusing}, {EngineKind::native, network::kNativePath.fusing}})
        for (const network::NetworkShape& network : test::tiled_relatives()) {
            SCOPED_TRACE(std::string(name_of(engine)) + " " + network::to_text(network::graph_of(network)));
            const Weights weights = make_seeded_weights(network, kSeed);
            const EngineOptions options{.engine = engine, .threads = 2};
            const Shape shape = test::input_shape(weights, 2, 16, 24);
            const auto values = test::random_values(static_cast<size_t>(shape.elements()), kSeed);
            const Timed timed = run_by_steps(weights, options, values, shape);
            EXPECT_EQ(timed.pixels, test::denoise(*make_denoiser(weights, options), weights, options, values, shape));
            const auto steps = network::steps_of(network::graph_of(weights.shape), fusing);
            ASSERT_EQ(timed.steps.size(), steps.size());
            for (size_t i = 0; i < steps.size(); ++i) {
                EXPECT_EQ(timed.steps[i].step, steps[i]) << i;
                EXPECT_GE(timed.steps[i].seconds, 0) << i;
            }
        }
}

TEST(ForwardBySteps, IsNothingWhereAnEngineDoesNotTellThemApart) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 2, .width = 8}, kSeed);
    const EngineOptions options{.engine = EngineKind::reference};
    const Shape shape = test::input_shape(weights, 1, 8, 8);
    const Timed timed = run_by_steps(weights, options, test::random_values(3 * 64, kSeed), shape);
    EXPECT_THAT(timed.steps, testing::IsEmpty());
    EXPECT_THAT(timed.pixels, testing::Each(-1.0F)) << "nothing was computed";
}

}  // namespace
}  // namespace pb::engine
