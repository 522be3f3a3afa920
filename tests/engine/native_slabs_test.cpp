// Exchanged rows in the engine native: the bits of the whole image.
#include "engine/slab_mail.hpp"
#include "network/parts/exchanged_slab.hpp"

namespace pb::engine {
namespace {

using test::native_options;
using test::row_networks;
using test::WholeImage;

void expect_same_bits_for_any_cuts_and_threads(const Weights& weights, network::WinogradForm form) {
    const int64_t align = network::alignment_of(weights.graph());
    const int64_t unit = network::slab_unit(weights.graph());
    const int64_t height = 6 * unit + align;  // the last slab is as thin as it can be
    const WholeImage image(weights, form, height, 5 * align);
    using Cuts = std::vector<int64_t>;
    for (const auto& [cuts, threads] : {std::pair{Cuts{0, height}, 1},
                                        {Cuts{0, 3 * unit, height}, 2},
                                        {Cuts{0, unit, 4 * unit, height}, 1},
                                        {Cuts{0, unit, 2 * unit, 3 * unit, 4 * unit, 5 * unit, 6 * unit, height}, 1}})
        EXPECT_TRUE(test::exchange(weights, image, cuts, native_options(form, threads)) == image.denoised)
            << cuts.size() - 1 << " slabs, " << threads << " threads";
}

TEST(NativeSlabs, EqualTheWholeImageBitForBitForAnyCutsAndThreads) {
    test::for_row_networks_and_forms(expect_same_bits_for_any_cuts_and_threads);
}

TEST(NativeSlabs, EqualTheWholeImageBitForBitForAnyGraph) {
    for (const auto& graphs : {test::any_graphs(12), test::wide_graphs(6)})
        test::for_graphs(graphs,
                         [](const Weights& weights) { expect_same_bits_for_any_cuts_and_threads(weights, {}); });
}

void expect_planned_memory_of_slabs(const Weights& weights) {
    const network::Graph graph = weights.graph();
    const network::ExchangedSlab slab(graph,
                                      {.rows = {64, 96}, .above = {0, 64}, .below = {96, 160}, .image = {160, 40}});
    std::vector<float> in(static_cast<size_t>(slab.held(0).size() * 40 * 4)), out(static_cast<size_t>(32 * 40 * 3));
    device::Stream stream({});
    for (const network::WinogradForm form : test::forms()) {
        const auto denoiser = make_denoiser(weights, native_options(form, 2));
        test::expect_planned_memory(
            network::plan_exchanged(graph, slab).arena.bytes + 2 * network::native_scratch_bytes(graph, form),
            [&] { return denoiser->make_slab_pass(slab, stream); },
            [&](SlabPass& pass) { pass.run(in.data(), out.data(), nullptr); });
    }
}

TEST(NativeSlabs, TakeTheMemoryThatIsPlanned) {
    for (const size_t network : {2, 4})
        expect_planned_memory_of_slabs(make_seeded_weights(row_networks()[network], test::kRowSeed));
}

TEST(NativeSlabs, OtherEnginesRefuseThem) {
    const Weights weights = make_seeded_weights(row_networks()[0], test::kRowSeed);
    const network::ExchangedSlab slab(weights.graph(), {.rows = {0, 8}, .image = {8, 8}});
    device::Stream stream({});
    test::expect_others_refuse(weights, {EngineKind::reference},
                               [&](Denoiser& denoiser) { return denoiser.make_slab_pass(slab, stream); });
}

}  // namespace
}  // namespace pb::engine
