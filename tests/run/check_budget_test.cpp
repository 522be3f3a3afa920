// Which of many images are computed again for verification.
#include "plan/rows.hpp"
#include "run/verify/probes.hpp"
#include "run/verify/verification.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace pb::run {
namespace {

std::vector<int> checked(CheckBudget budget, int num_images, double pass_px, double check_px) {
    std::vector<int> images;
    for (int i = 0; i < num_images; ++i)
        if (budget.decide(pass_px, check_px) == CheckDepth::windows) images.push_back(i);
    return images;
}

TEST(CheckBudget, TheFirstImageIsCheckedWhateverItCosts) {
    EXPECT_EQ(checked(CheckBudget(0.05), 1, 100, 1e6), std::vector{0});
    EXPECT_EQ(checked(CheckBudget(0), 100, 100, 1), std::vector{0});
}

TEST(CheckBudget, TheFirstWindowsOfEachExtentAreChecked) {
    CheckBudget budget(0);
    for (const Extent& window : {Extent{40, 40}, {40, 43}, {43, 40}}) {
        EXPECT_EQ(budget.decide(100, 10, window), CheckDepth::windows);
        EXPECT_EQ(budget.decide(100, 10, window), CheckDepth::outputs);
    }
    EXPECT_EQ(budget.decide(100, 10), CheckDepth::outputs);
}

TEST(CheckBudget, AllImagesAfterAWrongOneAreChecked) {
    CheckBudget budget(0);
    EXPECT_EQ(budget.decide(100, 10), CheckDepth::windows);
    EXPECT_EQ(budget.decide(100, 10), CheckDepth::outputs);
    budget.distrust();
    EXPECT_EQ(budget.decide(100, 10), CheckDepth::windows);
    EXPECT_EQ(budget.decide(100, 10), CheckDepth::windows);
}

TEST(CheckBudget, TheChecksAreSpreadAndKeepToTheirShare) {
    const std::vector<int> images = checked(CheckBudget(0.05), 100, 10, 10);
    EXPECT_EQ(images, (std::vector{0, 39, 59, 79, 99}));
    const std::vector<int> cheap = checked(CheckBudget(0.05), 100, 1000, 10);
    EXPECT_EQ(cheap.size(), 100U) << "all, where that costs one percent";
}

TEST(CheckBudget, ALargeImagePaysForItsOwnCheck) {
    CheckBudget budget(0.05);
    EXPECT_EQ(budget.decide(10, 10), CheckDepth::windows);
    EXPECT_EQ(budget.decide(10, 10), CheckDepth::outputs);
    EXPECT_EQ(budget.decide(1000, 10), CheckDepth::windows);
}

plan::Point point_of(Extent image, EngineKind engine) {
    plan::Point point;
    point.settings.network = network::kind_of<network::DncnnShape>();
    point.settings.engine = engine;
    point.settings.patch = 64;
    point.settings.protocol.verify_probes = 1;
    point.source = {image, 3, DType::f32};
    point.relative = network::DncnnShape{.depth = 4};
    plan::settle_halo(point, 8);
    plan::settle_batch(point, 1);
    return point;
}

TEST(SeamProbes, HoldACornerOfPatchesAndBeginInSteps) {
    plan::Point point = point_of({400, 520}, EngineKind::native);
    point.settings.network = network::kind_of<network::DrunetShape>();
    point.relative = network::DrunetShape{.widths = {4, 4}, .blocks = 1};
    point.settings.patch = 128;
    const plan::TileGrid grid = plan::tile_grid(point);
    const int64_t alignment = grid.spec().alignment;
    ASSERT_GT(alignment, 1);
    const std::vector<Rect> probes = seam_probes(grid, 100);
    EXPECT_GT(probes.size(), 6U);
    const auto is_on_seam = [&](int64_t begin, int64_t end, int64_t patch) {
        return begin % alignment == 0 && begin < (end - 1) / patch * patch;
    };
    for (const Rect& probe : probes) {
        EXPECT_TRUE(is_on_seam(probe.row, probe.row + probe.extent.h, grid.patch().h)) << probe.row;
        EXPECT_TRUE(is_on_seam(probe.column, probe.column + probe.extent.w, grid.patch().w)) << probe.column;
    }
}

TEST(SeamProbes, EndInStepsThatDoNotDivideTheirEdge) {
    const plan::TileGrid grid({200, 260}, {30, 0, 3});
    const std::vector<Rect> probes = seam_probes(grid, 100);
    ASSERT_GT(probes.size(), 6U);
    const auto ends_in_steps = [](int64_t end, int64_t length) { return end == length || end % 3 == 0; };
    for (const Rect& probe : probes) {
        EXPECT_TRUE(ends_in_steps(probe.row + probe.extent.h, 200)) << probe.row;
        EXPECT_TRUE(ends_in_steps(probe.column + probe.extent.w, 260)) << probe.column;
        EXPECT_GE(probe.extent.h, kProbeEdge);
    }
}

/// The multiplications of DnCNN's 20 layers for a square of 64 pixels, each layer with the pixels that the next one
/// needs, as pixels of the whole network.
double pixels_of_a_square() {
    double macs = 0, macs_of_a_pixel = 0;
    for (int layer = 1; layer <= 20; ++layer) {
        const double of_layer = 9.0 * (layer == 1 ? 3 : 64) * (layer == 20 ? 3 : 64), edge = 64 + 2 * (20 - layer);
        macs += of_layer * edge * edge;
        macs_of_a_pixel += of_layer;
    }
    return macs / macs_of_a_pixel;
}

TEST(CheckPixels, AreThoseOfWindowsAndSeamsOnTheSerialPath) {
    const engine::Weights weights =
        engine::make_seeded_weights(network::kind_of<network::DncnnShape>(), 3, 1);  // a reach of 20
    EXPECT_EQ(check_pixels(point_of({40, 48}, EngineKind::torch), weights), 40 * 48) << "one window, no seam";
    EXPECT_EQ(check_pixels(point_of({40, 48}, EngineKind::native), weights), 3 * 40 * 48);
    plan::Point in_bf16 = point_of({40, 48}, EngineKind::torch);
    in_bf16.settings.dtype = Precision::bf16;
    EXPECT_EQ(check_pixels(in_bf16, weights), 3 * 40 * 48);
    plan::Point of_ranks = point_of({500, 500}, EngineKind::torch);
    of_ranks.num_ranks = 3;
    EXPECT_DOUBLE_EQ(check_pixels(of_ranks, weights), 3 * 80 * 80 + pixels_of_a_square()) << "a window of each rank";
    EXPECT_DOUBLE_EQ(check_pixels(point_of({500, 500}, EngineKind::torch), weights), 80 * 80 + pixels_of_a_square());
}

TEST(CheckPixels, OfCarriedRowsAreThoseOfASquareWithItsContext) {
    const engine::Weights weights =
        engine::make_seeded_weights(network::kind_of<network::DncnnShape>(), 3, 1);  // a reach of 20
    plan::Point point = point_of({500, 500}, EngineKind::native);
    plan::settle_carried(point, 64);
    EXPECT_DOUBLE_EQ(check_pixels(point, weights), 3 * pixels_of_a_square());
}

}  // namespace
}  // namespace pb::run
