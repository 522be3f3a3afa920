#include "engine/native_rows.hpp"
#include "network/parts/band_schedule.hpp"

namespace pb::engine {
namespace {

using test::carry;
using test::native_options;
using test::row_networks;
using test::WholeImage;

void expect_whole_image(const Weights& weights, network::WinogradForm form) {
    const int64_t step = network::alignment_of(weights.graph());
    const auto denoiser = make_denoiser(weights, native_options(form));
    for (const int64_t rows : {1, 3, 17, 25}) {
        const WholeImage image(weights, form, rows * step, 5 * step);
        for (const int64_t band : {step, 32 / step * step, 64 / step * step}) {
            const auto bands = carry(*denoiser, weights, image, band, {0, image.shape.h});
            EXPECT_TRUE(bands == image.denoised) << rows << " x " << step << " rows, bands of " << band;
        }
    }
}

TEST(NativeBands, EqualTheWholeImageBitForBit) { test::for_row_networks_and_forms(expect_whole_image); }

TEST(NativeBands, EqualTheWholeImageBitForBitForAnyGraph) {
    for (const auto& graphs : {test::any_graphs(12), test::wide_graphs(6)})
        test::for_graphs(graphs, [](const Weights& weights) { expect_whole_image(weights, {}); });
}

void expect_same_bits_for_any_ranks_and_threads(const Weights& weights, network::WinogradForm form) {
    const int64_t step = network::network_facts(weights.shape).alignment;
    const WholeImage image(weights, form, 24 * step, 6 * step);
    const std::vector<int64_t> two_ranks{0, 12 * step, image.shape.h}, three{0, 8 * step, 17 * step, image.shape.h};
    for (const auto& [cuts, threads] : {std::pair{three, 1}, {two_ranks, 2}, {three, 3}}) {
        const auto denoiser = make_denoiser(weights, native_options(form, threads));
        EXPECT_TRUE(carry(*denoiser, weights, image, 8 * step, cuts) == image.denoised)
            << cuts.size() - 1 << " ranks, " << threads << " threads";
    }
}

TEST(NativeBands, HaveTheSameBitsForAnyRanksAndThreads) {
    test::for_row_networks_and_forms(expect_same_bits_for_any_ranks_and_threads);
}

void expect_whole_image_in_strips(const Weights& weights, network::WinogradForm form) {
    const network::Graph graph = weights.graph();
    const int64_t step = network::alignment_of(graph);
    const auto denoiser = make_denoiser(weights, native_options(form));
    for (const int64_t more : {0, 1, 6}) {  // of a width that is no multiple of tiles
        const int64_t width = test::width_of_strips(graph, network::ComputedUnit::tile, more);
        const WholeImage image(weights, form, 3 * step, width);
        for (const int64_t strips : {2, 3})
            EXPECT_TRUE(test::carry_in_strips(*denoiser, weights, image, 2 * step, strips) == image.denoised)
                << strips << " strips of " << width << " columns";
    }
}

TEST(NativeBands, InStripsEqualTheWholeImageBitForBit) {
    test::for_row_networks_and_forms(expect_whole_image_in_strips);
    test::for_graphs(test::any_graphs(6), [](const Weights& weights) { expect_whole_image_in_strips(weights, {}); });
}

TEST(NativeBands, WithALateMapEqualTheWholeImageBitForBit) {
    test::for_late_maps([](const Weights& weights, const network::LateGraph& late) {
        const int64_t step = network::alignment_of(late.graph);
        const auto denoiser = make_denoiser(weights, native_options());
        const WholeImage image(weights, network::WinogradForm{}, 25 * step, 5 * step);
        for (const int64_t band : {step, 32 / step * step})
            EXPECT_TRUE(test::carry(*denoiser, weights, image, band, {0, 9 * step, image.shape.h},
                                    network::ComputedUnit::tile, late) == image.denoised)
                << "bands of " << band;
    });
}

TEST(NativeBands, ASecondPassDoesNotSeeTheFirst) {
    const Weights weights = make_seeded_weights(network::UnetShape{.widths = {32, 64}}, test::kRowSeed);
    const network::Graph graph = weights.graph();
    const auto denoiser = make_denoiser(weights, native_options());
    const Shape shape = test::input_shape(weights, 1, 48, 32);
    const network::BandSchedule schedule(graph, {.rows = {0, shape.h}, .band = 16, .image = {shape.h, shape.w}});
    device::Stream stream({});
    const auto pass = denoiser->make_band_pass(schedule, stream);
    for (const uint64_t seed : {1, 2}) {
        const auto values = test::random_values(static_cast<size_t>(shape.elements()), seed);
        std::vector<float> result(values.size());
        for (int64_t step = 0; step < schedule.num_steps(); ++step)
            pass->run(step, values.data() + schedule.made(step, 0).begin * shape.w * shape.c,
                      result.data() + schedule.made(step, graph.output()).begin * shape.w * shape.c);
        EXPECT_TRUE(result == test::denoise(*denoiser, weights, native_options(), values, shape));
    }
}

void expect_planned_memory_of_bands(const Weights& weights) {
    const network::Graph graph = weights.graph();
    const network::BandSchedule schedule(graph, {.rows = {0, 512}, .band = 32, .image = {512, 40}});
    std::vector<float> in(static_cast<size_t>(64 * 40 * 4)), out(static_cast<size_t>(32 * 40 * 3));
    device::Stream stream({});
    for (const network::WinogradForm form : test::forms()) {
        const auto denoiser = make_denoiser(weights, native_options(form, 2));
        test::expect_planned_memory(
            network::plan_bands(schedule).arena.bytes + 2 * network::native_scratch_bytes(graph, form),
            [&] { return denoiser->make_band_pass(schedule, stream); },
            [&](BandPass& pass) {
                for (int64_t step = 0; step < schedule.num_steps(); ++step) pass.run(step, in.data(), out.data());
            });
    }
}

TEST(NativeBands, TakeTheMemoryThatIsPlanned) {
    for (const size_t network : {2, 4})
        expect_planned_memory_of_bands(make_seeded_weights(row_networks()[network], test::kRowSeed));
}

TEST(NativeBands, OfAnotherNetworkAreRefused) {
    const network::BandSchedule schedule(network::graph_of(row_networks()[1]),
                                         {.rows = {0, 8}, .band = 8, .image = {8, 8}});
    const auto denoiser = make_denoiser(make_seeded_weights(row_networks()[0], test::kRowSeed), native_options());
    device::Stream stream({});
    EXPECT_THROW((void)denoiser->make_band_pass(schedule, stream), Error);
}

TEST(NativeBands, OtherEnginesRefuseThem) {
    const Weights weights = make_seeded_weights(row_networks()[0], test::kRowSeed);
    const network::BandSchedule schedule(weights.graph(), {.rows = {0, 8}, .band = 8, .image = {8, 8}});
    device::Stream stream({});
    test::expect_others_refuse(weights, {EngineKind::reference},
                               [&](Denoiser& denoiser) { return denoiser.make_band_pass(schedule, stream); });
}

}  // namespace
}  // namespace pb::engine
