// Windows of which only cores are used, in the engine torch: their pixels are those of whole windows within rounding.
#include "engine/cropped_windows.hpp"
#include "support/graph_text.hpp"
#include "support/networks.hpp"

#include <string>

namespace pb::engine {
namespace {

using test::CroppedWindows;
using test::row_networks;
using test::Scene;

constexpr network::CropEngine kTorch{network::ComputedUnit::pixel, network::kOnednnPath};
constexpr double kCroppedRounding = 1e-5;

void expect_cores_of_whole_windows(const Weights& weights, int64_t n, int threads) {
    const Scene scene = test::scene_of(network::alignment_of(weights.graph()));
    CroppedWindows windows(weights, scene, n, {.threads = threads}, kTorch);
    test::for_batches(windows, scene, n, [&](const CroppedWindows::Pixels& pixels) {
        EXPECT_LE(test::largest_difference(pixels.cropped, pixels.whole), kCroppedRounding * windows.largest());
    });
}

TEST(TorchCropped, EqualWholeWindowsWhereverTheCoreLies) {
    test::for_row_networks([](const Weights& weights) {
        for (const auto& [n, threads] : {std::pair{1, 1}, {4, 2}}) {
            SCOPED_TRACE("batch " + std::to_string(n));
            expect_cores_of_whole_windows(weights, n, threads);
        }
    });
}

TEST(TorchCropped, EqualThemInAnyGraph) {
    test::for_graphs(test::any_graphs(12),
                     [](const Weights& weights) { expect_cores_of_whole_windows(weights, 2, 1); });
}

TEST(TorchCropped, HaveTheSameBitsForAnyBatchAndThreads) {
    const Weights weights = make_seeded_weights(row_networks()[4], test::kRowSeed);
    const Scene scene{{96, 64}, {{0, 32}, {32, 64}}, {{0, 32}, {16, 48}}};
    const std::vector<Rect> cores{{0, 16, {32, 32}}, {32, 16, {32, 32}}, {32, 16, {32, 32}}};
    CroppedWindows together(weights, scene, 3, {}, kTorch), shared(weights, scene, 3, {.threads = 2}, kTorch);
    const auto expected = together.run(cores).cropped;
    EXPECT_TRUE(shared.run(cores).cropped == expected);
    const auto one_by_one = together.run({cores[1], cores[0], cores[2]}).cropped;  // other windows beside them
    EXPECT_TRUE(std::equal(one_by_one.end() - 32 * 32 * 3, one_by_one.end(), expected.end() - 32 * 32 * 3));
}

TEST(TorchCropped, TakeTheMemoryThatIsPlanned) {
    for (const auto& network : {row_networks()[0], row_networks()[2], row_networks()[4]}) {
        SCOPED_TRACE(network::to_text(network::graph_of(network)));
        const Weights weights = make_seeded_weights(network, test::kRowSeed);
        for (const Rect& core : {Rect{64, 64, {64, 64}}, Rect{0, 64, {64, 64}}, Rect{0, 128, {64, 64}}}) {
            const Range rows{core.row, core.row + 64}, columns{core.column, core.column + 64};
            const Scene scene{{192, 192}, {rows}, {columns}};
            CroppedWindows windows(weights, scene, 2, {}, kTorch);
            const network::WindowCrop crop(weights.graph(), scene.window, {rows}, {columns}, kTorch);
            (void)windows.run({core, core});
            reset_allocator_peaks({});
            const int64_t before = allocator_counters({}).allocated_bytes;
            windows.pass().run(windows.in(), windows.out(), std::vector{core, core});
            const auto peak = static_cast<double>(allocator_counters({}).peak_allocated_bytes - before);
            EXPECT_NEAR(peak / static_cast<double>(crop.peak_bytes(2)), 1, 0.02) << "core at " << core.row;
        }
    }
}

TEST(TorchCropped, TimesItsStepsAndSaysWhatTheyComputed) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 5, .width = 32}, test::kRowSeed);
    const Scene scene{{40, 40}, {{0, 16}, {0, 40}}, {{0, 16}, {0, 40}}};
    CroppedWindows windows(weights, scene, 2, {}, kTorch);
    const std::vector<Rect> cores{{0, 0, {16, 16}}, {0, 0, {40, 40}}};
    const auto steps = windows.pass().run_by_steps(windows.in(), windows.out(), cores);
    const auto expected = network::steps_of(weights.graph(), network::kOnednnPath.fusing);
    ASSERT_EQ(steps.size(), expected.size());
    for (size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(steps[i].step, expected[i]);
        const double edge = i + 1 == steps.size() ? 16 : 20 - static_cast<double>(i);  // layer by layer a pixel less
        EXPECT_DOUBLE_EQ(steps[i].part, (edge * edge / (40 * 40) + 1) / 2) << "one window in part, one as a whole";
    }
}

TEST(TorchCropped, AreWholeWhereTheCropIsOfAnotherNetwork) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 3, .width = 32}, test::kRowSeed);
    const network::Graph deeper = network::graph_of(network::DncnnShape{.depth = 5, .width = 32});
    const network::WindowCrop crop(deeper, {40, 40}, {{0, 16}}, {{0, 16}}, kTorch);
    device::Stream stream({});
    EXPECT_EQ(make_denoiser(weights, {})->make_crop_pass(crop, 1, stream), nullptr);
}

TEST(TorchCropped, RefuseWhatTheyWereNotMadeFor) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 3, .width = 32}, test::kRowSeed);
    const Scene scene{{40, 40}, {{0, 16}}, {{0, 16}}};
    CroppedWindows windows(weights, scene, 1, {}, kTorch), tiles(weights, scene, 1, {});
    EXPECT_THROW(windows.pass().run(windows.in(), windows.out(), std::vector<Rect>{{0, 1, {16, 16}}}), Error);
    EXPECT_THROW(tiles.pass().run(tiles.in(), tiles.out(), std::vector<Rect>{{0, 0, {16, 16}}}), Error)
        << "a crop that is the engine native's";
}

}  // namespace
}  // namespace pb::engine
