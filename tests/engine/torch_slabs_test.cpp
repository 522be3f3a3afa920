// Exchanged rows in the engine torch: the whole image within rounding.
#include "engine/slab_mail.hpp"
#include "network/parts/exchanged_slab.hpp"
#include "support/graph_text.hpp"

#include <string>

namespace pb::engine {
namespace {

using test::row_networks;
using test::WholeImage;

constexpr double kSlabRounding = 1e-5;

void expect_whole_image_for_any_cuts(const Weights& weights) {
    const int64_t align = network::alignment_of(weights.graph());
    const int64_t unit = network::slab_unit(weights.graph());
    const int64_t height = 4 * unit + align;  // the last slab is as thin as it can be
    const WholeImage image(weights, EngineOptions{}, height, 5 * align);
    using Cuts = std::vector<int64_t>;
    for (const Cuts& cuts :
         {Cuts{0, height}, Cuts{0, unit, 3 * unit, height}, Cuts{0, unit, 2 * unit, 4 * unit, height}})
        EXPECT_LE(test::largest_difference(test::exchange(weights, image, cuts, {}), image.denoised),
                  kSlabRounding * test::max_abs(image.denoised))
            << cuts.size() - 1 << " slabs";
}

TEST(TorchSlabs, EqualTheWholeImageForAnyCuts) { test::for_row_networks(expect_whole_image_for_any_cuts); }

TEST(TorchSlabs, EqualItForAnyGraph) { test::for_graphs(test::any_graphs(12), expect_whole_image_for_any_cuts); }

TEST(TorchSlabs, TakeTheMemoryThatIsPlanned) {
    for (const auto& network : {row_networks()[0], row_networks()[2], row_networks()[4]}) {
        const Weights weights = make_seeded_weights(network, test::kRowSeed);
        const network::Graph graph = weights.graph();
        SCOPED_TRACE(network::to_text(graph));
        for (const Range& rows : {Range{0, 64}, Range{64, 192}, Range{192, 256}}) {
            const network::ExchangedSlab slab(graph, {.rows = rows,
                                                      .above = rows.begin > 0 ? Range{0, rows.begin} : Range{},
                                                      .below = rows.end < 256 ? Range{rows.end, 256} : Range{},
                                                      .image = {256, 64},
                                                      .unit = network::ComputedUnit::pixel});
            const std::vector<float> in(static_cast<size_t>(slab.held(0).size() * 64 * 4));
            std::vector<float> out(static_cast<size_t>(rows.size() * 64 * 3));
            const auto denoiser = make_denoiser(weights, {});
            device::Stream stream({});
            const auto pass = denoiser->make_slab_pass(slab, stream);
            pass->run(in.data(), out.data(), nullptr);
            reset_allocator_peaks({});
            const int64_t before = allocator_counters({}).allocated_bytes;
            pass->run(in.data(), out.data(), nullptr);
            EXPECT_EQ(allocator_counters({}).allocated_bytes, before) << "after a pass nothing more is held";
            const auto peak = static_cast<double>(allocator_counters({}).peak_allocated_bytes - before);
            const auto planned = static_cast<double>(
                network::peak_of_pieces(graph, network::slab_steps(graph, slab), 1, network::kOnednnPath));
            EXPECT_NEAR(peak / planned, 1, 0.02) << "from row " << rows.begin;
        }
    }
}

TEST(TorchSlabs, AreRefusedWhereTheyWereNotMade) {
    const Weights weights = make_seeded_weights(row_networks()[0], test::kRowSeed);
    const network::ExchangedSlab slab(weights.graph(), {.rows = {0, 8}, .image = {8, 8}});
    device::Stream stream({});
    for (const EngineOptions& options :
         {EngineOptions{.precision = Precision::bf16}, EngineOptions{.layout = Layout::contiguous}})
        EXPECT_THROW((void)make_denoiser(weights, options)->make_slab_pass(slab, stream), UsageError);
}

}  // namespace
}  // namespace pb::engine
