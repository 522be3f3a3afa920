// Into how many strips carried rows are cut so that they fit into memory, by arithmetic alone.
#include "network/parts/band_schedule.hpp"
#include "plan/context.hpp"
#include "plan/memory_limit.hpp"
#include "plan/prediction.hpp"
#include "plan/rows.hpp"
#include "support/messages.hpp"
#include "support/planned_point.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

namespace pb::plan {
namespace {

using test::planned;
using testing::HasSubstr;

/// DnCNN with carried rows, on an image that is much wider than the context of a strip.
config::PointSettings wide_point(EngineKind engine = EngineKind::native) {
    config::PointSettings settings;
    settings.engine = engine;
    settings.halo.kind = config::HaloSetting::Kind::carried;
    settings.patch = 64;
    settings.image.height = 300;
    settings.image.width = 1501;
    return settings;
}

config::PointSettings limited(config::PointSettings settings, double share_of_whole) {
    settings.memory_limit_mib = static_cast<int64_t>(share_of_whole * predict(planned(settings)).value().peak_mib);
    return settings;
}

TEST(StripPoints, HaveAsFewStripsAsFitIntoTheLimit) {
    for (const EngineKind engine : {EngineKind::native, EngineKind::torch})
        for (const double share : {0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45}) {
            const config::PointSettings settings = limited(wide_point(engine), share);
            const auto limit = static_cast<double>(settings.memory_limit_mib);
            Point point = planned(settings);
            ASSERT_TRUE(point.strip_columns.has_value()) << name_of(engine) << ", " << share;
            const double inexact = engine == EngineKind::torch ? 1.1 : 1;  // of what is predicted
            EXPECT_LE(inexact * predict(point)->peak_mib, limit);
            const network::StripCut cut(point.graph(), 1501, computed_unit(point));
            const int64_t number = std::ssize(strips_of(point));
            EXPECT_EQ(point.strip_columns, cut.window_of(number)) << "no wider than so many strips need";
            point.strip_columns = cut.window_of(number - 1);
            EXPECT_GT(inexact * predict(point)->peak_mib, limit) << number;
        }
}

TEST(StripPoints, FitIntoTheMemoryOfTheGpuThatRanksShare) {
    config::PointSettings settings = wide_point(EngineKind::torch);
    settings.device = config::DeviceChoice::cuda;
    Topology topology = make_local_topology(2);
    for (RankPlace& place : topology.ranks) {
        place.device = {DeviceKind::cuda, 0};
        place.device_uuid = "GPU-0";
        place.memory_bytes = int64_t{1} << 40;
        place.free_host_bytes = 1;
    }
    const Point whole = planned(settings, topology);
    EXPECT_FALSE(whole.strip_columns.has_value()) << "memory of the host is not what it takes";
    const double peak = predict(whole)->peak_mib;
    for (RankPlace& place : topology.ranks) place.memory_bytes = static_cast<int64_t>(2 * peak * kMiB);
    const Point cut = planned(settings, topology);
    EXPECT_TRUE(cut.strip_columns.has_value());
    EXPECT_LT(predict(cut)->peak_mib, 0.8 * peak);
    topology.ranks.back().device_uuid = "GPU-1";
    EXPECT_FALSE(planned(settings, topology).strip_columns.has_value()) << "each has a GPU of its own";
}

TEST(Bands, TakeTheirRowsAndTheScratchMemoryOfTheThreads) {
    config::PointSettings settings = wide_point();
    settings.threads.count = 3;
    const Point point = planned(settings);
    ASSERT_GT(scratch_bytes(point), 0);
    EXPECT_EQ(band_bytes(point).maps,
              network::plan_bands(band_schedule(point, 0).value()).arena.bytes + scratch_bytes(point));
}

TEST(StripPoints, AreNotCutWhereTheWholeWidthFits) {
    for (const double share : {0.0, 1.05}) {
        const Point point = planned(limited(wide_point(), share));
        EXPECT_FALSE(point.strip_columns.has_value());
        EXPECT_DOUBLE_EQ(strip_cost(point), 1);
        EXPECT_EQ(strips_text(point), "");
        EXPECT_EQ(tile_grid(point).num_windows(), 5);
    }
}

TEST(StripPoints, WindowsAreBandsOfStripsAndARankHasAllOfItsBands) {
    const Point point = planned(limited(wide_point(), 0.7), make_local_topology(2));
    const TileGrid grid = tile_grid(point);
    const int64_t strips = std::ssize(strips_of(point));
    ASSERT_GE(strips, 2);
    EXPECT_EQ(grid.num_windows(), 5 * strips);
    EXPECT_EQ(grid.num_patches(), 5 * strips);
    EXPECT_EQ(grid.num_patches({1, 1 + strips}), strips);
    EXPECT_EQ(grid.window(0).extent, (Extent{64, *point.strip_columns}));
    EXPECT_EQ(grid.core(strips - 1).column + grid.core(strips - 1).extent.w, 1501);
    EXPECT_EQ(windows_of_rank(point, grid, 0), (Range{0, 2 * strips}));
    EXPECT_EQ(windows_of_rank(point, grid, 1), (Range{2 * strips, 5 * strips}));
    EXPECT_EQ(covered_rects(grid, windows_of_rank(point, grid, 1)), (std::vector<Rect>{{128, 0, {172, 1501}}}));
    const auto schedule = band_schedule(point, 1);
    EXPECT_EQ(schedule->shape().rows, (Range{128, 300}));
    EXPECT_EQ(schedule->shape().image, (Extent{300, *point.strip_columns}));
}

TEST(StripPoints, OwnEachPixelOnceBesideThePadding) {
    config::PointSettings settings = wide_point();
    settings.network = network::kind_of<network::UnetShape>();
    settings.image.width = 1501;  // padded to 1504
    settings.image.height = 70;
    const Point point = planned(limited(settings, 0.8));
    const TileGrid grid = tile_grid(point);
    ASSERT_TRUE(point.strip_columns.has_value());
    std::vector<int> times(static_cast<size_t>(grid.image().pixels()), 0);
    for (int64_t i = 0; i < grid.num_windows(); ++i) {
        const Rect core = grid.core(i), window = grid.window(i);
        EXPECT_GE(core.column, window.column);
        EXPECT_LE(core.column + core.extent.w, window.column + window.extent.w);
        for (int64_t y = core.row; y < core.row + core.extent.h; ++y)
            for (int64_t x = core.column; x < core.column + core.extent.w; ++x)
                ++times.at(static_cast<size_t>(y * grid.image().w + x));
    }
    EXPECT_TRUE(std::ranges::all_of(times, [](int n) { return n == 1; }));
}

TEST(StripPoints, CostTheirContextAndSaySo) {
    const Point point = planned(limited(wide_point(), 0.7));
    const double cost = strip_cost(point);
    EXPECT_GT(cost, 1);
    EXPECT_DOUBLE_EQ(processed_pixels(point), cost * 300 * 1501);
    EXPECT_DOUBLE_EQ(computed_per_useful(point), cost);
    EXPECT_EQ(predict(point)->pixels_per_forward, 64 * *point.strip_columns);
    EXPECT_THAT(point.notes, testing::Contains(HasSubstr("halo = carried: " + strips_text(point))));
    EXPECT_EQ(label_of(point), "dncnn-native-p64-hcarried-b1-fp32");
}

TEST(StripPoints, BordersOfRanksCostTheSamePartInStrips) {
    const config::PointSettings settings = limited(wide_point(), 0.7);
    const BandPixels cut = band_pixels(planned(settings, make_local_topology(2)));
    const BandPixels whole = band_pixels(planned(wide_point(), make_local_topology(2)));
    EXPECT_GT(cut.all_ranks, whole.all_ranks);
    EXPECT_NEAR(cut.all_ranks / cut.image, whole.all_ranks / whole.image, 1e-9);
}

TEST(StripPoints, RanksOfAHostShareItsFreeMemory) {
    Topology topology = make_local_topology(2);
    const double whole = predict(planned(wide_point(), topology))->peak_mib;
    for (RankPlace& place : topology.ranks)
        place.free_host_bytes = static_cast<int64_t>(2 * 2 * 0.8 * whole) << 20;  // half of it, by two ranks
    const Point point = planned(wide_point(), topology);
    EXPECT_TRUE(point.strip_columns.has_value());
    EXPECT_LE(predict(point)->peak_mib, 0.8 * whole);
    for (RankPlace& place : topology.ranks) place.free_host_bytes *= 2;
    EXPECT_FALSE(planned(wide_point(), topology).strip_columns.has_value());
    for (RankPlace& place : topology.ranks) place.free_host_bytes = 1 << 20;
    const Point tried = planned(wide_point(), topology);
    EXPECT_TRUE(tried.refusal.empty()) << "memory that is free is no limit";
    EXPECT_FALSE(tried.strip_columns.has_value());
}

TEST(StripPoints, AreRefusedWithTheMemoryThatTheyTakeAtLeast) {
    config::PointSettings settings = wide_point();
    settings.memory_limit_mib = 3;
    const std::string refusal = usage_error([&] { (void)planned(settings); });
    EXPECT_THAT(refusal, testing::AllOf(HasSubstr("halo = carried"), HasSubstr("memory_limit_mib = 3")));
    const size_t number = refusal.find("takes ") + std::string("takes ").size();
    settings.memory_limit_mib = std::stoll(refusal.substr(number));
    EXPECT_TRUE(planned(settings).strip_columns.has_value()) << refusal;
    --settings.memory_limit_mib;
    EXPECT_THAT(usage_error([&] { (void)planned(settings); }), HasSubstr("halo = carried"));
}

TEST(StripPoints, TakeSmallTilesWhereTheseCostLess) {
    config::PointSettings settings = wide_point();
    settings.image.width = 200;  // two strips would compute 1.7 times as much
    const Point small = planned(limited(settings, 0.95));
    EXPECT_EQ(small.winograd_tile, 2);
    EXPECT_FALSE(small.strip_columns.has_value());
    const Point cut = planned(limited(wide_point(), 0.95));
    EXPECT_FALSE(cut.winograd_tile.has_value());
    EXPECT_TRUE(cut.strip_columns.has_value());
}

TEST(StripPoints, TakeSmallTilesOnlyWhereALimitAsksForThem) {
    config::PointSettings settings = wide_point();
    settings.image.width = 200;
    Topology topology = make_local_topology(1);
    topology.ranks[0].free_host_bytes = static_cast<int64_t>(2 * 0.95 * predict(planned(settings))->peak_mib * kMiB);
    EXPECT_FALSE(planned(settings, topology).winograd_tile.has_value());
}

TEST(StripPoints, AreSettledWhateverWasSettledBefore) {
    Point point = planned(wide_point());
    point.winograd_tile = 2;
    point.strip_columns = 500;
    settle_memory(point);
    EXPECT_FALSE(point.winograd_tile.has_value()) << "there is memory enough for the faster ones";
    EXPECT_FALSE(point.strip_columns.has_value());
}

TEST(StripPoints, OfAnAutomaticHaloAreWeighedByWhatTheyCompute) {
    config::PointSettings settings = wide_point();
    settings.patch = 32;  // no bands are thinner
    settings.image.width = 6000;
    settings = limited(settings, 0.7);
    settings.halo.kind = config::HaloSetting::Kind::automatic;
    const Point point = planned(settings);
    ASSERT_EQ(point.band_rows, 32) << point.halo_note;
    EXPECT_TRUE(point.strip_columns.has_value());
    EXPECT_THAT(point.halo_note, HasSubstr("carried rows in bands of 32, " + strips_text(point) + ", exact"));
    const ContextWay way = context_ways(point, 1).front();
    EXPECT_EQ(way.point.strip_columns, point.strip_columns);
    EXPECT_NEAR(way.work_px, band_cost(32) * strip_cost(point) * 300 * 6000, 1);
    EXPECT_EQ(way.obstacle, "");
}

}  // namespace
}  // namespace pb::plan
