// Carried rows in the engine torch: the whole image within rounding.
#include "engine/native_rows.hpp"
#include "network/parts/band_pieces.hpp"
#include "support/computed_graphs.hpp"
#include "support/graph_text.hpp"

#include <string>

namespace pb::engine {
namespace {

using test::row_networks;
using test::WholeImage;

constexpr double kRounding = 1e-5;
EngineOptions torch_options(int threads = 1) { return {.threads = threads}; }

std::vector<float> carry_rows(Denoiser& denoiser, const Weights& weights, const WholeImage& image, int64_t band,
                              const std::vector<int64_t>& cuts) {
    return test::carry(denoiser, weights, image, band, cuts, network::ComputedUnit::pixel);
}

void expect_equal(const std::vector<float>& carried, const WholeImage& image) {
    EXPECT_LE(test::largest_difference(carried, image.denoised), kRounding * test::max_abs(image.denoised));
}

void expect_whole_image(const Weights& weights, const std::vector<int64_t>& heights) {
    const int64_t step = network::alignment_of(weights.graph());
    const auto denoiser = make_denoiser(weights, torch_options());
    for (const int64_t rows : heights) {
        const WholeImage image(weights, torch_options(), rows * step, 5 * step);
        for (const int64_t band : {step, 32 / step * step, 64 / step * step}) {
            SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(step) + " rows, bands of " +
                         std::to_string(band));
            expect_equal(carry_rows(*denoiser, weights, image, band, {0, image.shape.h}), image);
        }
    }
}

TEST(TorchBands, EqualTheWholeImage) {
    test::for_row_networks([](const Weights& weights) { expect_whole_image(weights, {1, 3, 17, 25}); });
}

TEST(TorchBands, EqualItForAnyGraph) {
    test::for_graphs(test::any_graphs(12), [](const Weights& weights) { expect_whole_image(weights, {3, 17}); });
}

// The sum takes the memory of `head`, whose last rows `context` reads again in the next band.
TEST(TorchBands, EqualItWhereASumOverwritesRowsThatAreReadAgain) {
    network::GraphBuilder net;
    const size_t image = net.input(3);
    const size_t head = net.relu(net.convolve(image, 16, {.weights = "head", .has_bias = true}));
    const size_t other = net.relu(net.convolve(image, 16, {.weights = "other", .has_bias = true}));
    const size_t context = net.relu(net.convolve(head, 16, {.weights = "context", .has_bias = true}));
    const size_t sum = net.add(head, other);
    net.convolve(net.add(context, sum), 3, {.weights = "tail"});
    expect_whole_image(test::weights_of(net.graph(), test::kRowSeed), {17, 70});
}

TEST(TorchBands, EqualItForAnyRanks) {
    test::for_row_networks([](const Weights& weights) {
        const int64_t step = network::network_facts(weights.shape).alignment;
        const WholeImage image(weights, torch_options(), 24 * step, 6 * step);
        const auto denoiser = make_denoiser(weights, torch_options(2));
        expect_equal(carry_rows(*denoiser, weights, image, 8 * step, {0, 8 * step, 17 * step, image.shape.h}), image);
    });
}

TEST(TorchBands, EqualItInStrips) {
    for (const auto& network : {row_networks()[0], row_networks()[2], row_networks()[5]}) {
        SCOPED_TRACE(network::to_text(network::graph_of(network)));
        const Weights weights = make_seeded_weights(network, test::kRowSeed);
        const int64_t step = network::alignment_of(weights.graph());
        const int64_t width = test::width_of_strips(weights.graph(), network::ComputedUnit::pixel, 4);
        const WholeImage image(weights, torch_options(), 5 * step, width);
        const auto denoiser = make_denoiser(weights, torch_options());
        for (const int64_t strips : {2, 3})
            expect_equal(
                test::carry_in_strips(*denoiser, weights, image, 2 * step, strips, network::ComputedUnit::pixel),
                image);
    }
}

TEST(TorchBands, WithALateMapEqualIt) {
    test::for_late_maps([](const Weights& weights, const network::LateGraph& late) {
        const int64_t step = network::alignment_of(late.graph);
        const auto denoiser = make_denoiser(weights, torch_options());
        const WholeImage image(weights, torch_options(), 25 * step, 5 * step);
        for (const int64_t band : {step, 32 / step * step}) {
            SCOPED_TRACE("bands of " + std::to_string(band));
            expect_equal(test::carry(*denoiser, weights, image, band, {0, 9 * step, image.shape.h},
                                     network::ComputedUnit::pixel, late),
                         image);
        }
    });
}

/// Runs all steps of `schedule` on an image of one value.
std::vector<float> run_pass(BandPass& pass, const network::BandSchedule& schedule, float value) {
    const Extent image = schedule.shape().image;
    const size_t output = schedule.graph().output();
    const std::vector<float> in(static_cast<size_t>(schedule.most_input_rows() * image.w * 4), value);
    std::vector<float> out(static_cast<size_t>(image.pixels() * 3));
    for (int64_t step = 0; step < schedule.num_steps(); ++step)
        pass.run(step, in.data(), out.data() + schedule.made(step, output).begin * image.w * 3);
    return out;
}

TEST(TorchBands, ASecondPassDoesNotSeeTheFirst) {
    const Weights weights = make_seeded_weights(row_networks()[2], test::kRowSeed);
    const network::BandSchedule schedule(
        weights.graph(), {.rows = {0, 48}, .band = 16, .image = {48, 32}, .unit = network::ComputedUnit::pixel});
    const auto denoiser = make_denoiser(weights, torch_options());
    device::Stream stream({});
    const auto pass = denoiser->make_band_pass(schedule, stream), other = denoiser->make_band_pass(schedule, stream);
    const auto first = run_pass(*pass, schedule, 0.25F);
    (void)run_pass(*other, schedule, 0.75F);
    std::vector<float> in(static_cast<size_t>(48 * 32 * 4), 0.5F), out(in.size());
    pass->run(0, in.data(), out.data());  // and stops
    EXPECT_TRUE(run_pass(*pass, schedule, 0.25F) == first);
    pass->run(schedule.busiest_step(), in.data(), out.data());  // by itself, as for timing
    EXPECT_TRUE(run_pass(*pass, schedule, 0.25F) == first);
}

int64_t peak_of_pass(const Weights& weights, const network::BandSchedule& schedule) {
    const auto denoiser = make_denoiser(weights, torch_options());
    device::Stream stream({});
    const int64_t weights_alone = allocator_counters({}).allocated_bytes;
    const auto pass = denoiser->make_band_pass(schedule, stream);
    EXPECT_EQ(allocator_counters({}).allocated_bytes, weights_alone) << "the pass has those of the network";
    (void)run_pass(*pass, schedule, 0.5F);
    reset_allocator_peaks({});
    const int64_t before = allocator_counters({}).allocated_bytes;
    (void)run_pass(*pass, schedule, 0.5F);
    EXPECT_EQ(allocator_counters({}).allocated_bytes, before) << "after the last step nothing is held";
    return allocator_counters({}).peak_allocated_bytes - before;
}

TEST(TorchBands, TakeTheMemoryThatIsPlannedWhateverTheHeight) {
    for (const auto& network : {row_networks()[0], row_networks()[2], row_networks()[4]}) {
        const Weights weights = make_seeded_weights(network, test::kRowSeed);
        const network::Graph graph = weights.graph();
        for (const network::LateGraph& computed : test::computed_graphs(graph)) {
            SCOPED_TRACE(network::to_text(computed.graph));
            std::vector<int64_t> planned;
            for (const int64_t height : {512, 1024}) {
                const network::BandSchedule schedule(
                    graph, computed,
                    {.rows = {0, height}, .band = 32, .image = {height, 40}, .unit = network::ComputedUnit::pixel});
                planned.push_back(network::peak_of_bands(schedule, network::kOnednnPath));
                const auto peak = static_cast<double>(peak_of_pass(weights, schedule));
                EXPECT_NEAR(peak / static_cast<double>(planned.back()), 1, 0.02) << height;
            }
            EXPECT_EQ(planned[0], planned[1]);
        }
    }
}

TEST(TorchBands, TakeThePlannedMemoryWhereASumOverwritesKeptRows) {
    const Weights weights = test::weights_of(test::sum_over_kept_rows(), test::kRowSeed);
    const network::BandSchedule schedule(
        weights.graph(), {.rows = {0, 128}, .band = 64, .image = {256, 40}, .unit = network::ComputedUnit::pixel});
    const auto planned = static_cast<double>(network::peak_of_bands(schedule, network::kOnednnPath));
    EXPECT_NEAR(static_cast<double>(peak_of_pass(weights, schedule)) / planned, 1, 0.02);
}

TEST(TorchBands, OfAnotherNetworkAreRefused) {
    const network::BandSchedule schedule(
        network::graph_of(row_networks()[1]),
        {.rows = {0, 8}, .band = 8, .image = {8, 8}, .unit = network::ComputedUnit::pixel});
    const auto denoiser = make_denoiser(make_seeded_weights(row_networks()[0], test::kRowSeed), torch_options());
    device::Stream stream({});
    EXPECT_THROW((void)denoiser->make_band_pass(schedule, stream), Error);
}

TEST(TorchBands, AreRefusedWhereTheyWereNotMade) {
    const Weights weights = make_seeded_weights(row_networks()[0], test::kRowSeed);
    const network::BandSchedule schedule(weights.graph(), {.rows = {0, 8}, .band = 8, .image = {8, 8}});
    device::Stream stream({});
    for (const EngineOptions& options :
         {EngineOptions{.precision = Precision::bf16}, EngineOptions{.layout = Layout::contiguous}})
        EXPECT_THROW((void)make_denoiser(weights, options)->make_band_pass(schedule, stream), UsageError);
}

}  // namespace
}  // namespace pb::engine
