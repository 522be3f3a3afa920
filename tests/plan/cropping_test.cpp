#include "plan/cropping.hpp"

#include "network/native_layout.hpp"
#include "plan/memory_limit.hpp"
#include "plan/prediction.hpp"
#include "support/planned_point.hpp"

#include <gtest/gtest.h>

namespace pb::plan {
namespace {

using test::planned;

config::PointSettings cropped_settings(int64_t patch = 16, int64_t halo = 40) {
    config::PointSettings settings;
    settings.engine = EngineKind::native;
    settings.network = network::kind_of<network::UnetShape>();
    settings.patch = patch;
    settings.halo = {config::HaloSetting::Kind::pixels, halo};
    settings.image.height = 205;
    settings.image.width = 301;
    return settings;
}

/// The core of a window of the grid, within the window.
Rect core_of(const TileGrid& grid, int64_t index) {
    const auto [window, core] = grid.tile(index);
    return {core.row - window.row, core.column - window.column, core.extent};
}

/// One by one.
double pixels_of(const Point& point, const Range& windows) {
    const TileGrid grid = tile_grid(point);
    const network::WindowCrop crop = window_crop(point);
    double macs = 0;
    for (int64_t i = windows.begin; i < windows.end; ++i) macs += crop.macs(core_of(grid, i));
    return macs / point.facts().mac_per_pixel;
}

double flop_of(const Point& point, double pixels) { return 2 * point.facts().mac_per_pixel * pixels; }

TEST(Cropping, IsOfTilesInTheEnginesNativeAndTorch) {
    EXPECT_TRUE(is_cropped(planned(cropped_settings())));
    const auto changed = [](auto change) {
        config::PointSettings settings = cropped_settings();
        change(settings);
        return is_cropped(planned(settings));
    };
    EXPECT_TRUE(changed([](auto& s) { s.engine = EngineKind::torch; }));
    EXPECT_FALSE(changed([](auto& s) { s.engine = EngineKind::onnxruntime; }));
    EXPECT_FALSE(changed([](auto& s) {
        s.engine = EngineKind::torch;
        s.layout = Layout::contiguous;
    }));
    EXPECT_FALSE(changed([](auto& s) { s.workload = config::Workload::whole; }));
    EXPECT_FALSE(changed([](auto& s) { s.halo = {config::HaloSetting::Kind::carried, 0}; }));
    EXPECT_FALSE(changed([](auto& s) {
        s.halo = {config::HaloSetting::Kind::automatic, 0};
        s.image.height = s.image.width = 16;
    })) << "the halo is open";
}

/// A point of the engine torch on a CUDA device.
template <class Network>
Point cuda_point(int64_t patch, int64_t halo, Precision dtype) {
    config::PointSettings settings = cropped_settings(patch, halo);
    settings.engine = EngineKind::torch;
    settings.network = network::kind_of<Network>();
    settings.image.height = settings.image.width = 1280;
    Point point = planned(settings);
    point.device = DeviceKind::cuda;
    point.settings.dtype = dtype;  // the CPU has not all of them
    return point;
}

// By hand, of a window within the image: DRUNet of 640 px saves 48 % of 1.8 TFLOP, 0.9 ms in bf16, and has 66 steps of
// 5 us; DnCNN of 296 px saves 13 % of 0.12 TFLOP, 0.2 ms in fp32, 0.02 ms in bf16, and has 20 steps.
TEST(Cropping, OnCudaIsWhereItIsSureToGain) {
    using network::DncnnShape;
    using network::DrunetShape;
    EXPECT_TRUE(is_cropped(cuda_point<DrunetShape>(256, 192, Precision::bf16)));
    EXPECT_TRUE(is_cropped(cuda_point<DncnnShape>(256, 20, Precision::fp32)));
    EXPECT_FALSE(is_cropped(cuda_point<DncnnShape>(256, 20, Precision::bf16)));
    EXPECT_FALSE(is_cropped(cuda_point<DncnnShape>(256, 20, Precision::tf32)));
    EXPECT_FALSE(is_cropped(cuda_point<DrunetShape>(256, 0, Precision::fp32))) << "nothing is saved";
    for (const int64_t patch : {1024, 2048})
        EXPECT_FALSE(is_cropped(cuda_point<DrunetShape>(patch, 192, Precision::fp32))) << "the image is one window";
}

TEST(Cropping, OnCudaIsOfCallsOfManyShapes) {
    const auto changed = [](auto change) {
        Point point = cuda_point<network::DrunetShape>(256, 192, Precision::fp32);
        change(point.settings);
        return is_cropped(point);
    };
    EXPECT_TRUE(changed([](auto& s) { s.layout = Layout::contiguous; }));
    EXPECT_FALSE(changed([](auto& s) { s.cuda_graph = true; }));
    EXPECT_FALSE(changed([](auto& s) { s.fusion = FusionKind::on; }));
    EXPECT_FALSE(is_fused(cuda_point<network::DrunetShape>(256, 192, Precision::bf16))) << "cropping gains more";
    EXPECT_TRUE(is_fused(cuda_point<network::DncnnShape>(256, 20, Precision::bf16))) << "not cropped";
}

TEST(Cropping, OnCudaThePeakHoldsAllSlotsAndTheirSamples) {
    Point point = cuda_point<network::DrunetShape>(256, 192, Precision::fp16);
    point.batch = 2;
    point.settings.slots = 3;
    point.settings.last_batch = config::LastBatch::ragged;
    const auto window = static_cast<double>(tile_grid(point).window().pixels());
    const double in_out = 3 * 2 * window * (2 * (3 + 4) + 4 * (3 + 3));  // f16 values, f32 samples
    const double bytes = in_out + 2 * static_cast<double>(point.facts().parameters) +
                         static_cast<double>(most_bytes_of_pieces(point, 2));
    EXPECT_NEAR(predict(point)->peak_mib, bytes / kMiB, 1e-6);
    Point whole = point;
    whole.settings.cuda_graph = true;
    EXPECT_LT(predict(point)->peak_mib, predict(whole)->peak_mib);
    EXPECT_NEAR(computed_pixels(point), pixels_of(point, {0, tile_grid(point).num_windows()}),
                1e-9 * computed_pixels(point));
    EXPECT_EQ(computed_pixels(whole), processed_pixels(whole));
}

TEST(Cropping, SumsOverAnyWindowsAreThoseOfEach) {
    for (const auto& [patch, halo] : {std::pair<int64_t, int64_t>{16, 40}, {64, 8}, {40, 0}, {8, 56}, {512, 56}}) {
        SCOPED_TRACE(std::to_string(patch) + ", halo " + std::to_string(halo));
        const Point point = planned(cropped_settings(patch, halo));
        const CroppedPixels cropped(point);
        const int64_t windows = tile_grid(point).num_windows();
        EXPECT_NEAR(cropped.of_all(), pixels_of(point, {0, windows}), 1e-9 * cropped.of_all());
        for (const int64_t begin : {int64_t{0}, windows / 5, windows / 2, windows - 1})
            for (const int64_t end : {begin, begin + 1, (begin + windows) / 2, windows})
                if (end >= begin) {
                    EXPECT_NEAR(cropped.of({begin, end}), pixels_of(point, {begin, end}), 1e-9 * cropped.of_all());
                }
    }
}

TEST(Cropping, APredictionCountsWhatIsComputedOnEachRank) {
    config::PointSettings settings = cropped_settings(64, 56);
    settings.batch.count = 2;
    for (const bool pads : {true, false}) {
        settings.last_batch = pads ? config::LastBatch::pad : config::LastBatch::ragged;
        const Point point = planned(settings, make_local_topology(5));  // 12 windows: some ranks have three
        const TileGrid grid = tile_grid(point);
        double all = 0, busiest = 0;
        int64_t odd = 0;
        for (int rank = 0; rank < 5; ++rank) {
            const Range windows = windows_of_rank(point, grid, rank);
            double pixels = pixels_of(point, windows);
            for (int64_t i = windows.size(); pads && i % 2 != 0; ++i)
                pixels += pixels_of(point, {windows.end - 1, windows.end});
            odd += windows.size() % 2;
            all += pixels;
            busiest = std::max(busiest, pixels);
        }
        ASSERT_GT(odd, 0) << "else nothing is repeated";
        EXPECT_NEAR(predict(point)->flop, flop_of(point, all), 1e-9 * flop_of(point, all));
        EXPECT_NEAR(predict(point)->flop_busiest_rank, flop_of(point, busiest), 1e-9 * flop_of(point, all));
        EXPECT_NEAR(computed_pixels(point), all, 1e-9 * all);
        EXPECT_LT(computed_pixels(point), 0.8 * processed_pixels(point));
        EXPECT_NEAR(computed_per_useful(point), all / (205 * 301), 1e-9 * all);
        settings.schedule = config::Schedule::dynamic;
        const Prediction shared = *predict(planned(settings, make_local_topology(3)));
        EXPECT_LT(shared.flop_busiest_rank, 0.5 * shared.flop) << "of equally fast ranks";
        settings.schedule = config::Schedule::contiguous;
    }
}

TEST(Cropping, ComputesEveryPixelOnceWithoutAHaloAndAPatchLeftOver) {
    config::PointSettings settings = cropped_settings(64, 0);
    settings.image.height = settings.image.width = 256;
    const Point point = planned(settings);
    EXPECT_NEAR(computed_per_useful(point), 1, 1e-12);
    Point open = point;
    open.batch.reset();
    EXPECT_NEAR(computed_per_useful(open), 1, 1e-12);
}

TEST(Cropping, OfTorchComputeLessThanTilesDo) {
    config::PointSettings settings = cropped_settings(64, 56);
    settings.batch.count = 1;
    const double tiles = computed_pixels(planned(settings));
    settings.engine = EngineKind::torch;
    const Point point = planned(settings);
    EXPECT_LT(computed_pixels(point), 0.95 * tiles);
    EXPECT_NEAR(computed_pixels(point), pixels_of(point, {0, tile_grid(point).num_windows()}),
                1e-9 * computed_pixels(point));
    const double window = static_cast<double>(tile_grid(point).window().pixels());
    const double bytes = static_cast<double>(4 * point.facts().parameters + window_crop(point).peak_bytes(1));
    EXPECT_DOUBLE_EQ(predict(point)->peak_mib, (bytes + window * 4 * (3 + 3)) / kMiB);
    settings.dtype = Precision::bf16;
    EXPECT_NEAR(predict(planned(settings))->peak_mib, predict(point)->peak_mib / 2, 1e-6);
}

TEST(Cropping, ThePeakIsThatOfCroppedMaps) {
    config::PointSettings settings = cropped_settings(64, 56);
    settings.batch.count = 2;
    const Point point = planned(settings);
    const network::Graph graph = network::graph_of(point.shape());
    const double window = static_cast<double>(tile_grid(point).window().pixels());
    const double bytes = static_cast<double>(network::native_weight_bytes(graph, {}) +
                                             window_crop(point).place(2).bytes + scratch_bytes(point)) +
                         2 * window * 4 * (3 + 3);
    EXPECT_DOUBLE_EQ(predict(point)->peak_mib, bytes / kMiB);
    const auto whole = network::place_blocks(network::plan_memory(graph, network::kNativePath),
                                             2 * tile_grid(point).window().pixels());
    EXPECT_LT(window_crop(point).place(2).bytes, whole.bytes);
}

/// The windows of a batch with equal cores are computed side by side, those of a padded one as well.
TEST(Cropping, OfTorchThePeakHoldsAllEqualWindowsOfABatch) {
    config::PointSettings settings = cropped_settings(16, 40);
    settings.engine = EngineKind::torch;
    settings.last_batch = config::LastBatch::ragged;
    const Point point = planned(settings);
    EXPECT_GT(2 * most_bytes_of_pieces(point, 4), 3 * most_bytes_of_pieces(point, 1)) << "of those within the image";
    settings.patch = 64;
    settings.halo.pixels = 8;
    settings.image.height = 64;
    settings.image.width = 192;  // three windows, each with a core of its own
    const int64_t ragged = most_bytes_of_pieces(planned(settings), 2);
    EXPECT_EQ(ragged, most_bytes_of_pieces(planned(settings), 1));
    settings.last_batch = config::LastBatch::pad;
    EXPECT_GT(most_bytes_of_pieces(planned(settings), 2), ragged) << "the last one twice";
    settings.last_batch = config::LastBatch::ragged;
    settings.image.width = 5 * 64;
    EXPECT_GT(most_bytes_of_pieces(planned(settings, make_local_topology(2)), 3), ragged)
        << "rank 1 has two windows within the row";
}

}  // namespace
}  // namespace pb::plan
