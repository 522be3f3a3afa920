#include "plan/plan.hpp"
#include "plan/prediction.hpp"
#include "plan/rows.hpp"
#include "small_points.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <set>

namespace pb::plan {
namespace {

using test::cuda_topology;
using test::plan_of;
using test::point_of;
using test::small_point;
using testing::Contains;
using testing::HasSubstr;

TEST(Plan, KeysTellMeasurementsApartAndRecogniseEqualOnes) {
    std::vector<config::PointSettings> points(4, small_point());
    points[1].patch = 128;
    points[2].image.seed = 8;
    points[3].ranks.count = 2;  // all of two
    const Plan plan = plan_of(points, make_local_topology(2));
    std::set<std::string> keys;
    for (const Point& point : plan.points) {
        EXPECT_EQ(point.key.size(), 16U);
        keys.insert(point.key);
    }
    EXPECT_EQ(keys.size(), 3U);
    EXPECT_EQ(plan.points[3].key, plan.points[0].key);
    EXPECT_THAT(plan.points[3].notes, Contains(HasSubstr("point 0")));
    EXPECT_NE(point_of(small_point()).key, plan.points[0].key);  // another number of ranks
}

TEST(Plan, ABatchThatComesToThatOfAnotherPointIsTheSameMeasurement) {
    std::vector<config::PointSettings> points(3, small_point());
    points[0].patch = points[1].patch = 512;  // one window
    points[0].batch.count = 1;
    points[1].batch.count = points[2].batch.count = 4;
    const Plan plan = plan_of(points, make_local_topology(1));
    EXPECT_EQ(plan.points[1].key, plan.points[0].key);
    EXPECT_THAT(plan.points[1].notes, Contains(HasSubstr("point 0")));
    EXPECT_NE(plan.points[2].key, plan.points[0].key);
}

TEST(Plan, AnExactHaloIsTheSameMeasurementAsItsPixels) {
    std::vector<config::PointSettings> points(3, small_point());
    points[1].halo = {config::HaloSetting::Kind::pixels, 20};
    points[2].halo = {config::HaloSetting::Kind::pixels, 19};
    const Plan plan = plan_of(points, make_local_topology(1));
    EXPECT_EQ(plan.points[1].key, plan.points[0].key);
    EXPECT_THAT(plan.points[1].notes, Contains(HasSubstr("point 0")));
    EXPECT_NE(plan.points[2].key, plan.points[0].key);
}

TEST(Plan, WhatWasFoundByTryingDoesNotChangeTheKey) {
    config::PointSettings settings = small_point();
    settings.halo.kind = config::HaloSetting::Kind::automatic;
    settings.batch.count = 0;
    Point point = point_of(settings);
    point.halo = 8;
    point.batch = 2;
    EXPECT_EQ(key_of(point), point.key);
    settings.batch.count = 4;
    Point larger = point_of(settings);
    larger.batch = 1;  // windows with the halo that was found are fewer
    EXPECT_EQ(key_of(larger), larger.key);
}

TEST(Plan, KeysHoldTheDeviceThatIsTaken) {
    config::PointSettings settings = small_point();
    settings.layout = Layout::channels_last;
    const std::string on_gpu = point_of(settings, cuda_topology(1)).key;
    EXPECT_NE(point_of(settings).key, on_gpu);
    settings.device = config::DeviceChoice::cuda;
    EXPECT_EQ(point_of(settings, cuda_topology(1)).key, on_gpu);
}

TEST(Plan, KeysHoldTheExtentAndTheChannelsOfAFile) {
    config::PointSettings settings = small_point();
    settings.image.path = "photo.png";
    const auto key_with = [&](const SourceFacts& facts) {
        return plan_of({settings}, make_local_topology(1), [&](const auto&) { return facts; }).points.front().key;
    };
    const std::string key = key_with({{101, 80}, 3});
    EXPECT_EQ(key_with({{101, 80}, 3}), key);
    for (const SourceFacts& other : {SourceFacts{{80, 101}, 3}, {{101, 80}, 1}}) EXPECT_NE(key_with(other), key);
}

TEST(Plan, KeysHoldTheSigmaThatTheNetworkIsTold) {
    config::PointSettings told = small_point();
    told.sigma = 0.2;
    EXPECT_NE(point_of(told).key, point_of(small_point()).key);
    told.sigma = told.image.noise_sigma;
    EXPECT_EQ(point_of(told).key, point_of(small_point()).key) << "auto is the noise that is added";
}

TEST(Fusion, AutomaticIsWhereItWasMeasuredToGain) {
    const auto fused = [](FusionKind fusion, auto change) {
        Point point;
        point.device = DeviceKind::cuda;
        point.settings.fusion = fusion;
        point.settings.dtype = Precision::fp16;
        change(point);
        return is_fused(point);
    };
    const auto nothing = [](Point&) {};
    const auto in_fp32 = [](Point& point) { point.settings.dtype = Precision::fp32; };
    const auto contiguous = [](Point& point) { point.settings.layout = Layout::contiguous; };
    EXPECT_TRUE(fused(FusionKind::automatic, nothing));
    EXPECT_FALSE(fused(FusionKind::automatic, [](Point& point) { point.settings.batch.largest = true; }));
    EXPECT_FALSE(fused(FusionKind::off, nothing));
    for (const auto& slower : {std::function<void(Point&)>(in_fp32), std::function<void(Point&)>(contiguous)}) {
        EXPECT_FALSE(fused(FusionKind::automatic, slower));
        EXPECT_TRUE(fused(FusionKind::on, slower));
    }
    for (const FusionKind fusion : {FusionKind::automatic, FusionKind::on}) {
        EXPECT_FALSE(fused(fusion, [](Point& point) { point.device = DeviceKind::cpu; }));
        EXPECT_FALSE(fused(fusion, [](Point& point) { point.band_rows = 64; })) << "carried rows";
        EXPECT_FALSE(fused(fusion, [](Point& point) { point.settings.engine = EngineKind::pytorch; }));
        EXPECT_FALSE(fused(fusion, [](Point& point) { point.refusal = "no such device"; }));
    }
}

TEST(FastestLayout, IsContiguousWhereCudnnComputesInFp32) {
    const auto layout_where = [](auto change) {
        Point point;
        point.device = DeviceKind::cuda;
        change(point);
        return fastest_layout(point);
    };
    EXPECT_EQ(layout_where([](Point&) {}), Layout::contiguous);
    for (const auto& change : std::initializer_list<std::function<void(Point&)>>{
             [](Point& point) { point.device = DeviceKind::cpu; },
             [](Point& point) { point.settings.dtype = Precision::tf32; },
             [](Point& point) { point.settings.dtype = Precision::bf16; },
             [](Point& point) { point.settings.engine = EngineKind::pytorch; },
             [](Point& point) { point.settings.fusion = FusionKind::on; }, [](Point& point) { point.band_rows = 64; },
             [](Point& point) { point.settings.halo.kind = config::HaloSetting::Kind::exchanged; },
             [](Point& point) {
                 point.settings.network = network::kCustomKind;
                 point.settings.network.file = "net.pt2";
             }})
        EXPECT_EQ(layout_where(change), Layout::channels_last);
}

TEST(FastestLayout, IsTakenByThePlanUnlessOneIsNamed) {
    config::PointSettings settings = small_point();
    const auto planned = [&] { return point_of(settings, cuda_topology(1)).settings.layout; };
    EXPECT_EQ(planned(), config::LayoutSetting(Layout::contiguous));
    settings.layout = Layout::channels_last;
    EXPECT_EQ(planned(), config::LayoutSetting(Layout::channels_last));
    EXPECT_EQ(point_of(small_point(), make_local_topology(1)).settings.layout,
              config::LayoutSetting(Layout::channels_last));
}

}  // namespace
}  // namespace pb::plan
