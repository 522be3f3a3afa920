#include "engine/memory.hpp"
#include "network/band_memory.hpp"
#include "support/denoise_batch.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/network_facts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace pb::engine {
namespace {

using test::denoise;
using test::input_shape;
using test::random_values;

constexpr uint64_t kSeed = 7;

EngineOptions native_options(int threads = 1) { return {.engine = EngineKind::native, .threads = threads}; }

/// Relatives of each network whose 3x3 convolutions are Winograd's where they can be.
const std::vector<network::NetworkShape> kShapes{
    network::DncnnShape{.depth = 5, .width = 32},
    network::DncnnShape{.channels = 1, .depth = 4, .width = 24, .residual = network::DncnnResidual::subtract},
    network::UnetShape{.widths = {32, 64, 32}},
    network::UnetShape{.channels = 1, .widths = {16, 20, 32}},
    network::DrunetShape{.widths = {32, 64, 96, 32}, .blocks = 2},
    network::DrunetShape{.channels = 1, .widths = {8, 32}, .blocks = 1},
};

/// The output rows of ranks that own `cuts[i]` to `cuts[i + 1]`, each with a pass of its own over `values`.
std::vector<float> carry(Denoiser& denoiser, const Weights& weights, const std::vector<float>& values,
                         const Shape& shape, int64_t band, const std::vector<int64_t>& cuts) {
    const network::Graph graph = network::graph_of(weights.shape);
    const int64_t in_floats = shape.w * shape.c, out_floats = shape.w * weights.channels();
    std::vector<float> result(static_cast<size_t>(shape.h * out_floats), -1.F);
    for (size_t rank = 0; rank + 1 < cuts.size(); ++rank) {
        const network::BandSchedule schedule(
            graph, {.rows = {cuts[rank], cuts[rank + 1]}, .band = band, .image = {shape.h, shape.w}});
        const auto pass = denoiser.make_band_pass(schedule);
        for (int64_t step = 0; step < schedule.num_steps(); ++step) {
            const Range taken = schedule.made(step, 0), made = schedule.made(step, graph.output());
            pass->run(step, values.data() + taken.begin * in_floats, result.data() + made.begin * out_floats);
        }
    }
    return result;
}

TEST(NativeBands, EqualTheWholeImageBitForBit) {
    for (const network::NetworkShape& network : kShapes) {
        SCOPED_TRACE(network::to_text(network::graph_of(network)));
        const Weights weights = make_seeded_weights(network, kSeed);
        const int64_t step = network::network_facts(network).alignment;
        const auto denoiser = make_denoiser(weights, native_options());
        for (const int64_t rows : {1, 3, 17, 25}) {
            const Shape shape = input_shape(weights, 1, rows * step, 5 * step);
            const auto values = random_values(static_cast<size_t>(shape.elements()), kSeed);
            const auto whole = denoise(*denoiser, weights, native_options(), values, shape);
            for (const int64_t band : {step, 32 / step * step, 64 / step * step}) {
                const auto bands = carry(*denoiser, weights, values, shape, band, {0, shape.h});
                EXPECT_TRUE(bands == whole) << rows << " x " << step << " rows, bands of " << band;
            }
        }
    }
}

TEST(NativeBands, HaveTheSameBitsForAnyRanksAndThreads) {
    for (const network::NetworkShape& network : kShapes) {
        SCOPED_TRACE(network::to_text(network::graph_of(network)));
        const Weights weights = make_seeded_weights(network, kSeed);
        const int64_t step = network::network_facts(network).alignment;
        const Shape shape = input_shape(weights, 1, 24 * step, 6 * step);
        const auto values = random_values(static_cast<size_t>(shape.elements()), kSeed);
        const auto whole = denoise(*make_denoiser(weights, native_options()), weights, native_options(), values, shape);
        for (const int threads : {1, 2, 3}) {
            const auto denoiser = make_denoiser(weights, native_options(threads));
            for (const auto& cuts :
                 {std::vector<int64_t>{0, 12 * step, shape.h}, std::vector<int64_t>{0, 8 * step, 17 * step, shape.h}})
                EXPECT_TRUE(carry(*denoiser, weights, values, shape, 8 * step, cuts) == whole)
                    << cuts.size() - 1 << " ranks, " << threads << " threads";
        }
    }
}

TEST(NativeBands, ASecondPassDoesNotSeeTheFirst) {
    const Weights weights = make_seeded_weights(network::UnetShape{.widths = {32, 64}}, kSeed);
    const network::Graph graph = network::graph_of(weights.shape);
    const auto denoiser = make_denoiser(weights, native_options());
    const Shape shape = input_shape(weights, 1, 48, 32);
    const network::BandSchedule schedule(graph, {.rows = {0, shape.h}, .band = 16, .image = {shape.h, shape.w}});
    const auto pass = denoiser->make_band_pass(schedule);
    for (const uint64_t seed : {1, 2}) {
        const auto values = random_values(static_cast<size_t>(shape.elements()), seed);
        std::vector<float> result(values.size());
        for (int64_t step = 0; step < schedule.num_steps(); ++step)
            pass->run(step, values.data() + schedule.made(step, 0).begin * shape.w * shape.c,
                      result.data() + schedule.made(step, graph.output()).begin * shape.w * shape.c);
        EXPECT_TRUE(result == denoise(*denoiser, weights, native_options(), values, shape));
    }
}

TEST(NativeBands, TakeTheMemoryThatIsPlanned) {
    const Weights weights = make_seeded_weights(kShapes[4], kSeed);
    const network::Graph graph = network::graph_of(weights.shape);
    const auto denoiser = make_denoiser(weights, native_options(2));
    const network::BandSchedule schedule(graph, {.rows = {0, 512}, .band = 32, .image = {512, 40}});
    reset_allocator_peaks({});
    const int64_t before = allocator_counters({}).allocated_bytes;
    const auto pass = denoiser->make_band_pass(schedule);
    const int64_t planned = network::plan_bands(graph, schedule).arena.bytes + 2 * network::native_scratch_bytes(graph);
    EXPECT_EQ(allocator_counters({}).peak_allocated_bytes - before, planned);
    const int64_t made = allocator_counters({}).num_allocations;
    std::vector<float> in(static_cast<size_t>(64 * 40 * 4)), out(static_cast<size_t>(32 * 40 * 3));
    for (int64_t step = 0; step < schedule.num_steps(); ++step) pass->run(step, in.data(), out.data());
    EXPECT_EQ(allocator_counters({}).num_allocations, made);
}

TEST(NativeBands, OtherEnginesRefuseThem) {
    const Weights weights = make_seeded_weights(kShapes[0], kSeed);
    const network::BandSchedule schedule(network::graph_of(weights.shape),
                                         {.rows = {0, 8}, .band = 8, .image = {8, 8}});
    for (const EngineKind engine : {EngineKind::torch, EngineKind::reference}) {
        const auto denoiser = make_denoiser(weights, {.engine = engine});
        EXPECT_THROW((void)denoiser->make_band_pass(schedule), UsageError);
    }
}

}  // namespace
}  // namespace pb::engine
