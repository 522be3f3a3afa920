// Plans of points whose rows are carried or exchanged.
#include "network/parts/band_pieces.hpp"
#include "plan/context.hpp"
#include "plan/prediction.hpp"
#include "plan/rows.hpp"
#include "small_points.hpp"

#include <gmock/gmock.h>

namespace pb::plan {
namespace {

using test::cuda_topology;
using test::point_of;
using test::refusal_of;
using test::small_point;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

config::PointSettings carried_point() {
    config::PointSettings settings = small_point();
    settings.engine = EngineKind::native;
    settings.halo.kind = config::HaloSetting::Kind::carried;
    settings.patch = 32;
    return settings;
}

TEST(Carried, WindowsAreBandsOfTheWholeWidthWithoutContext) {
    const Point point = point_of(carried_point());
    EXPECT_EQ(point.halo, 20);  // of tiles with the same pixels
    EXPECT_EQ(point.batch, 1);
    const TileGrid grid = tile_grid(point);
    EXPECT_EQ(grid.num_windows(), 10);
    EXPECT_EQ(grid.num_patches(), 10);
    EXPECT_EQ(grid.core(9), (Rect{288, 0, {12, 200}}));
    EXPECT_EQ(label_of(point), "dncnn-native-p32-hcarried-b1-fp32");
    EXPECT_DOUBLE_EQ(processed_pixels(point), 300 * 200);
    EXPECT_EQ(predict(point)->pixels_per_forward, 32 * 200);
}

TEST(Carried, IsAnotherMeasurementThanAnExactHalo) {
    config::PointSettings exact = carried_point();
    exact.halo.kind = config::HaloSetting::Kind::exact;
    exact.batch.count = 1;
    EXPECT_NE(point_of(carried_point()).key, point_of(exact).key);
}

TEST(Carried, BordersOfRanksCostWhatANoteSays) {
    const Point point = point_of(carried_point(), make_local_topology(2));
    EXPECT_GT(processed_pixels(point), 300 * 200);
    ASSERT_EQ(point.notes.size(), 1U);
    // On each side of the border 18 layers reach a tile of 4 rows farther, two of them a row.
    EXPECT_THAT(point.notes.front(), HasSubstr(" 148 rows of the input are read again"));
    EXPECT_THAT(point_of(carried_point()).notes, IsEmpty());
}

TEST(Carried, TheBusiestRankMayBeBetweenTwoOthers) {
    config::PointSettings settings = carried_point();
    settings.image.height = 9 * 32;
    const Point point = point_of(settings, make_local_topology(3));  // three bands each
    const auto macs = [&](int rank) { return band_schedule(point, rank)->macs(); };
    ASSERT_GT(macs(1), macs(2));
    EXPECT_DOUBLE_EQ(predict(point)->flop_busiest_rank, 2 * macs(1));
    settings.patch = 300;
    settings.image.height = 3 * 300 - 200;
    const Point uneven = point_of(settings, make_local_topology(3));  // the last rank has 100 rows
    config::PointSettings even = settings;
    even.image.height = 3 * 300;
    EXPECT_EQ(band_bytes(uneven).all(), band_bytes(point_of(even, make_local_topology(3))).all());
}

TEST(Carried, MemoryDoesNotDependOnTheHeight) {
    for (const EngineKind engine : {EngineKind::native, EngineKind::torch}) {
        config::PointSettings settings = carried_point();
        settings.engine = engine;
        settings.image.height = 1000;
        const double peak_mib = predict(point_of(settings))->peak_mib;
        settings.image.height = 1000 + 1500 * settings.patch;
        EXPECT_DOUBLE_EQ(predict(point_of(settings))->peak_mib, peak_mib);
    }
}

TEST(Carried, TorchReadsLessOfItTwiceThanTilesDo) {
    config::PointSettings settings = carried_point();
    const auto input_rows = [&] { return band_pixels(point_of(settings, make_local_topology(2))).input_rows; };
    const int64_t of_native = input_rows();
    settings.engine = EngineKind::torch;
    EXPECT_EQ(input_rows(), 300 + 2 * 20) << "the receptive field of DnCNN, on both sides of the border";
    EXPECT_EQ(input_pixels(point_of(settings, make_local_topology(2))), (300 + 2 * 20) * 200);
    EXPECT_GT(of_native, 300 + 2 * 20);
}

TEST(Carried, OfDrunetMakeTheHeadTwiceInBothEngines) {
    config::PointSettings settings = carried_point();
    settings.network = network::kind_of<network::DrunetShape>();
    settings.image.height = 2000;
    for (const EngineKind engine : {EngineKind::native, EngineKind::torch}) {
        settings.engine = engine;
        const Point point = point_of(settings);
        const network::Graph computed = band_schedule(point, 0)->graph();
        EXPECT_EQ(computed.size(), point.graph().size() + 1) << name_of(engine);
        EXPECT_NEAR(processed_pixels(point) / (2000 * 200), 1, 0.002) << "and that is counted";
        EXPECT_GT(processed_pixels(point), 2000 * 200);
    }
}

TEST(Carried, OfTorchAreOnCudaInEveryPrecision) {
    config::PointSettings settings = carried_point();
    settings.engine = EngineKind::torch;
    settings.device = config::DeviceChoice::cuda;
    const auto peak_mib = [&](Precision dtype) {
        settings.dtype = dtype;
        const Point point = point_of(settings, cuda_topology(1));
        EXPECT_EQ(point.refusal, "");
        EXPECT_EQ(point.device, DeviceKind::cuda);
        EXPECT_TRUE(is_carried(point));
        return predict(point)->peak_mib;
    };
    EXPECT_NEAR(peak_mib(Precision::tf32), peak_mib(Precision::fp32), 1e-9);
    EXPECT_NEAR(peak_mib(Precision::fp16), peak_mib(Precision::bf16), 1e-9);
    const Point point = point_of(settings, cuda_topology(1));
    const auto schedule = band_schedule(point, 0);
    ASSERT_TRUE(schedule.has_value());
    EXPECT_EQ(schedule->shape().unit, network::ComputedUnit::pixel);
    const int64_t rows = schedule->most_input_rows() + schedule->shape().band;
    EXPECT_EQ(band_bytes(point).in_out, rows * 200 * 3 * (2 + 4)) << "16-bit values, f32 samples";
    settings.layout = Layout::contiguous;
    EXPECT_THAT(refusal_of(settings, cuda_topology(1)), HasSubstr("halo = carried"));
}

TEST(Carried, AreCopiedToFixedMemoryWhereStepsAreReplayed) {
    config::PointSettings settings = carried_point();
    settings.engine = EngineKind::torch;
    settings.device = config::DeviceChoice::cuda;
    settings.fusion = FusionKind::on;
    const Point enqueued = point_of(settings, cuda_topology(1));
    EXPECT_THAT(enqueued.notes, Contains(HasSubstr("fusion has no effect")));
    settings.cuda_graph = true;
    const Point replayed = point_of(settings, cuda_topology(1));
    EXPECT_THAT(replayed.notes, Not(Contains(HasSubstr("cuda_graph"))));
    const auto schedule = band_schedule(replayed, 0);
    EXPECT_EQ(band_bytes(replayed).maps,
              network::peak_of_bands(*schedule, path_in_rows(replayed), network::RowMemory::fixed));
    EXPECT_GT(band_bytes(replayed).maps, band_bytes(enqueued).maps);
    settings.halo.kind = config::HaloSetting::Kind::exchanged;
    EXPECT_THAT(point_of(settings, cuda_topology(1)).notes, Contains("cuda_graph has no effect on exchanged rows"));
    settings.cuda_graph = false;
    EXPECT_THAT(point_of(settings, cuda_topology(1)).notes, Not(Contains(HasSubstr("cuda_graph"))));
}

TEST(Carried, NothingIsReplayedOnTheCpu) {
    config::PointSettings settings = carried_point();
    settings.engine = EngineKind::torch;
    const int64_t bytes = band_bytes(point_of(settings)).maps;
    settings.cuda_graph = true;
    settings.fusion = FusionKind::on;
    const Point point = point_of(settings);
    EXPECT_EQ(band_bytes(point).maps, bytes);
    EXPECT_THAT(point.notes, Contains("cuda_graph has no effect on the CPU"));
    EXPECT_THAT(point.notes, Contains(HasSubstr("fusion has no effect on the CPU")));
    EXPECT_THAT(point.notes, Not(Contains(HasSubstr("no effect on carried"))));
}

TEST(Exchanged, OfTorchAreOnCudaInEveryPrecision) {
    config::PointSettings settings = carried_point();
    settings.engine = EngineKind::torch;
    settings.device = config::DeviceChoice::cuda;
    settings.halo.kind = config::HaloSetting::Kind::exchanged;
    const auto traffic_of = [&](Precision dtype) {
        settings.dtype = dtype;
        const Point point = point_of(settings, cuda_topology(2));
        EXPECT_TRUE(is_exchanged(point));
        EXPECT_GT(predict(point)->peak_mib, 0);
        return busiest_traffic(point).bytes;
    };
    EXPECT_EQ(traffic_of(Precision::fp32), 19 * 200 * 64 * 4);
    EXPECT_EQ(traffic_of(Precision::bf16), 19 * 200 * 64 * 2);
}

TEST(Carried, AreNotWeighedOnCuda) {
    config::PointSettings settings = carried_point();
    settings.engine = EngineKind::torch;
    settings.device = config::DeviceChoice::cuda;
    settings.halo = {config::HaloSetting::Kind::automatic, 0};
    EXPECT_FALSE(is_weighed(point_of(settings, cuda_topology(1))));
}

TEST(Carried, RefusesWhatCannotCarryRows) {
    const auto refused_with = [](auto change) {
        config::PointSettings settings = carried_point();
        change(settings);
        return refusal_of(settings);
    };
    const auto names_the_halo = HasSubstr("halo = carried");
    EXPECT_THAT(refused_with([](auto& s) {
                    s.engine = EngineKind::torch;
                    s.layout = Layout::contiguous;
                }),
                names_the_halo);
    EXPECT_THAT(refused_with([](auto& s) {
                    s.engine = EngineKind::torch;
                    s.dtype = Precision::bf16;
                }),
                names_the_halo);
    EXPECT_THAT(refused_with([](auto& s) {
                    s.engine = EngineKind::torch;
                    s.halo.kind = config::HaloSetting::Kind::exchanged;
                    s.dtype = Precision::bf16;
                }),
                HasSubstr("halo = exchanged: needs engine native on the CPU"));
    config::PointSettings on_gpu = carried_point();
    on_gpu.engine = EngineKind::torch;
    on_gpu.device = config::DeviceChoice::cuda;
    on_gpu.halo.kind = config::HaloSetting::Kind::exchanged;
    on_gpu.layout = Layout::contiguous;
    EXPECT_THAT(refusal_of(on_gpu, cuda_topology(1)), HasSubstr("halo = exchanged"));
    EXPECT_THAT(refused_with([](auto& s) { s.engine = EngineKind::reference; }), names_the_halo);
    EXPECT_THAT(refused_with([](auto& s) { s.engine = EngineKind::timed; }), names_the_halo);
    EXPECT_THAT(refused_with([](auto& s) { s.schedule = config::Schedule::dynamic; }), names_the_halo);
    EXPECT_THAT(refused_with([](auto& s) { s.dtype = Precision::bf16; }), HasSubstr("bf16"));
    const auto automatic = [](auto& s) { s.engine = config::EngineSetting::automatic(); };
    EXPECT_THAT(refused_with([&](auto& s) {
                    automatic(s);
                    s.dtype = Precision::bf16;
                }),
                names_the_halo);
    config::PointSettings settings = carried_point();
    automatic(settings);
    settings.memory_limit_mib = 13;  // hardly more than native takes at least
    EXPECT_EQ(point_of(settings).settings.engine, EngineKind::native);
}

}  // namespace
}  // namespace pb::plan
