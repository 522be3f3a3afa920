#include "plan/prediction.hpp"

#include "plan/context.hpp"
#include "plan/output_choice.hpp"
#include "small_points.hpp"

#include <gmock/gmock.h>

namespace pb::plan {
namespace {

using test::bf16_topology;
using test::point_of;
using test::small_point;

TEST(Prediction, CountsPaddedBatchesAndFollowsTheFormula) {
    config::PointSettings settings = small_point();
    settings.layout = Layout::contiguous;  // in which windows are not cropped
    settings.batch.count = 4;
    const Point padded = point_of(settings, make_local_topology(3));
    const TileGrid grid = tile_grid(padded);
    const auto window = static_cast<double>(grid.window().pixels());
    double windows = 0;
    for (int rank = 0; rank < 3; ++rank)
        windows += static_cast<double>(round_up(windows_of_rank(padded, grid, rank).size(), 4));
    EXPECT_GT(windows, static_cast<double>(grid.num_windows()));
    EXPECT_DOUBLE_EQ(predict(padded)->flop, 2.0 * 667'008 * window * windows);
    const auto image = static_cast<double>(grid.image().pixels());
    EXPECT_DOUBLE_EQ(processed_per_useful(padded), window * windows / image);
    Point open = padded;
    open.batch.reset();
    EXPECT_DOUBLE_EQ(processed_per_useful(open), static_cast<double>(grid.processed_pixels()) / image);
    settings.last_batch = config::LastBatch::ragged;
    EXPECT_DOUBLE_EQ(predict(point_of(settings, make_local_topology(3)))->flop,
                     2.0 * 667'008 * static_cast<double>(grid.processed_pixels()));
    const int one_fewer = static_cast<int>(grid.num_windows()) - 1;  // one rank has two windows, the others one
    EXPECT_DOUBLE_EQ(predict(point_of(settings, make_local_topology(one_fewer)))->flop_busiest_rank,
                     2.0 * 667'008 * window * 2);
    EXPECT_DOUBLE_EQ(predict(padded)->peak_mib * kMiB,
                     668'227 * 4 + 64 * 64 * 9 * 4 + 4 * window * (512 + 512 + 4 * 6));
}

TEST(Prediction, OnlyRowsOfOtherNodesTravelToTheRoot) {
    config::PointSettings settings = small_point();  // with noise: samples are f32
    const auto bytes_on = [&](int ranks, int per_node) {
        const Topology topology = make_local_topology(ranks, per_node);
        return bytes_to_root(point_of(settings, topology), topology);
    };
    const Point alone = point_of(settings, make_local_topology(1));
    const auto all = static_cast<double>(tile_grid(alone).image().pixels() * alone.source.channels * 4);
    EXPECT_EQ(bytes_on(4, 0), 0);
    EXPECT_EQ(bytes_on(4, 4), 0);
    EXPECT_GT(bytes_on(4, 1), bytes_on(4, 2));
    EXPECT_LT(bytes_on(4, 1), all);
    EXPECT_NEAR(bytes_on(2, 1), all / 2, all / 4) << "the second of two halves";
    settings.schedule = config::Schedule::dynamic;
    EXPECT_DOUBLE_EQ(bytes_on(4, 1), 0.75 * all) << "of equally fast ranks";
    settings.schedule = config::Schedule::contiguous;
    for (const auto stays : {config::OutputKind::file, config::OutputKind::checksum}) {
        settings.output = stays;
        EXPECT_EQ(bytes_on(4, 1), 0);
    }
    settings.output = config::OutputKind::memory;
    settings.workload = config::Workload::whole;
    EXPECT_EQ(bytes_on(4, 1), 0) << "the root computes it";
}

TEST(Prediction, SamplesTravelInTheirTypeWhereThatIsKept) {
    Point point = point_of(small_point());
    point.settings.image.noise_sigma = 0;
    for (const auto& [dtype, bytes] : {std::pair(DType::u8, 1),
                                       {DType::u16, 2},
                                       {DType::f32, 4},
                                       {DType::f64, 4},
                                       {DType::f16, 4},
                                       {DType::i16, 4}}) {
        point.source.dtype = dtype;
        EXPECT_EQ(sample_bytes(point), bytes) << name_of(dtype);
    }
    point.source.dtype = DType::u8;
    point.settings.image.nodata = "none";
    EXPECT_EQ(sample_bytes(point), 1);
    point.settings.image.nodata = "255";
    EXPECT_EQ(sample_bytes(point), 4);
    point.settings.image.nodata.clear();
    point.settings.image.range = "0:255";
    EXPECT_EQ(sample_bytes(point), 4);
}

PeakParts parts_of(const config::PointSettings& settings, DeviceKind device, const SourceFacts& source = {}) {
    Point point;
    point.settings = settings;
    point.device = device;
    point.source = source;
    return peak_parts(point);
}

TEST(Prediction, SixteenBitTypesHalveThePeakAndSlotsAddToIt) {
    const auto peak = [](Precision dtype, int64_t slots) {
        config::PointSettings settings;
        settings.network = network::kind_of<network::DrunetShape>();
        settings.dtype = dtype;
        return parts_of(settings, DeviceKind::cpu).peak(1 << 20, slots);
    };
    EXPECT_DOUBLE_EQ(peak(Precision::bf16, 2), peak(Precision::fp32, 2) / 2);
    EXPECT_DOUBLE_EQ(peak(Precision::fp32, 3) - peak(Precision::fp32, 2), (1 << 20) * 4.0 * 7);
}

TEST(Prediction, OfTheEngineNativeIsItsArenaItsScratchAndItsTransformedWeights) {
    config::PointSettings settings = small_point();
    settings.network = network::kind_of<network::DncnnShape>();
    settings.engine = EngineKind::native;
    settings.workload = config::Workload::whole;  // of tiles less is computed (cropping_test.cpp)
    settings.threads.count = 3;
    const PeakParts parts = peak_parts(point_of(settings, make_local_topology(1)));
    // 18 layers of 64 to 64 channels with 36 values for each kernel, 3 to 64, 64 to 3, and biases of whole panels.
    EXPECT_DOUBLE_EQ(parts.weights, 4.0 * (18 * (36 * 64 * 64 + 64) + 9 * 3 * 64 + 64 + 9 * 64 * 3 + 32));
    const int64_t scratch = 3 * 4 * (36 * 28 * (64 + 16) + 36 * 28 * 32 + 36 * 64);
    EXPECT_EQ(parts.scratch_bytes, scratch);
    EXPECT_DOUBLE_EQ(parts.peak(1 << 20, 1), parts.weights + (1 << 20) * (4 * 6 + 512.0) + scratch);
}

TEST(Prediction, OfTheEngineNativeInBf16HasSmallerWeightsAndTheSameMaps) {
    config::PointSettings settings = small_point();
    settings.network = network::kind_of<network::DncnnShape>();
    settings.engine = EngineKind::native;
    settings.workload = config::Workload::whole;
    const auto of = [&](Precision dtype) {
        settings.dtype = dtype;
        return peak_parts(point_of(settings, bf16_topology(1, 1)));
    };
    const PeakParts in_bf16 = of(Precision::bf16), in_fp32 = of(Precision::fp32);
    // Two bytes for each of 16 values of a kernel; all else is fp32.
    EXPECT_DOUBLE_EQ(in_bf16.weights, 18 * (2.0 * 16 * 64 * 64 + 4 * 64) + 4.0 * (9 * 3 * 64 + 64 + 9 * 64 * 3 + 32));
    EXPECT_EQ(in_bf16.scratch_bytes, 4 * 16 * (28 * (32 + 16) + 28 * 32 + 64));
    const auto maps = [](const PeakParts& parts) {
        return parts.peak(1 << 20, 1) - parts.weights - static_cast<double>(parts.scratch_bytes);
    };
    EXPECT_DOUBLE_EQ(maps(in_bf16), maps(in_fp32));
}

TEST(Prediction, ContiguousMapsAreCopiedOnTheCpuOnly) {
    config::PointSettings settings;
    const auto peak = [&](DeviceKind device) { return parts_of(settings, device).peak(1 << 20, 1); };
    const double on_cpu = peak(DeviceKind::cpu), on_cuda = peak(DeviceKind::cuda);
    settings.layout = Layout::contiguous;
    EXPECT_DOUBLE_EQ(peak(DeviceKind::cpu), on_cpu + (1 << 20) * 512.0);
    EXPECT_EQ(peak(DeviceKind::cuda), on_cuda);
}

/// Measured with the counting allocator: 64, 192, 768 and 1280 bytes a pixel for widths of 8, 24, 96 and 160.
TEST(Prediction, ContiguousMapsAreCopiedInTheirWidth) {
    for (const int64_t width : {8, 20, 24, 96, 160}) {
        Point point = point_of(small_point(), make_local_topology(1));
        point.relative = network::DncnnShape{.depth = 6, .width = width};
        const auto widest = [&](Layout layout) {
            point.settings.layout = layout;
            return peak_parts(point).forward.front().bytes_per_pixel;
        };
        EXPECT_DOUBLE_EQ(widest(Layout::contiguous) - widest(Layout::channels_last),
                         8.0 * static_cast<double>(round_up(width, int64_t{8})))
            << width;
    }
}

TEST(Prediction, FusedSumsHoldNoMapMore) {
    config::PointSettings settings;
    settings.network = network::kind_of<network::DrunetShape>();
    settings.dtype = Precision::bf16;
    const auto widest = [&](FusionKind fusion, DeviceKind device) {
        settings.fusion = fusion;
        return parts_of(settings, device).forward.front().bytes_per_pixel;
    };
    EXPECT_EQ(widest(FusionKind::on, DeviceKind::cuda), 384);
    EXPECT_EQ(widest(FusionKind::off, DeviceKind::cuda), 512);
    EXPECT_EQ(widest(FusionKind::automatic, DeviceKind::cuda), 384);
    EXPECT_EQ(widest(FusionKind::off, DeviceKind::cpu), 384);
    settings.layout = Layout::contiguous;
    EXPECT_EQ(widest(FusionKind::on, DeviceKind::cuda), 384) << "cuDNN does not reorder";
}

TEST(Prediction, ARankHasNoMoreBatchesInFlightThanWindowsFill) {
    config::PointSettings settings = small_point();  // of one rank
    settings.image.height = settings.image.width = 4 * settings.patch;
    Point point = point_of(settings, make_local_topology(1));
    point.device = DeviceKind::cuda;
    point.settings.slots = 3;
    const auto in_flight = [&point](int64_t batch, int num_ranks) {
        point.batch = batch;
        point.num_ranks = num_ranks;
        return batches_in_flight(point);
    };
    EXPECT_EQ(in_flight(16, 1), 1);
    EXPECT_EQ(in_flight(15, 1), 2);
    EXPECT_EQ(in_flight(1, 1), 3);
    EXPECT_EQ(in_flight(4, 4), 1);
    EXPECT_EQ(in_flight(1, 15), 2) << "the last rank has two windows";
    point.settings.schedule = config::Schedule::dynamic;
    EXPECT_EQ(in_flight(4, 4), 3) << "any rank may take all";
    EXPECT_EQ(in_flight(16, 4), 1);
    point.batch.reset();
    EXPECT_EQ(batches_in_flight(point), 3) << "while the batch is open";
}

TEST(Prediction, OnCudaASumHoldsAMapMoreAndASlotItsSamples) {
    config::PointSettings settings;
    settings.image.noise_sigma = 0;
    settings.fusion = FusionKind::off;
    const SourceFacts photograph{{8, 8}, 3, DType::u8};
    for (const auto& [network, widest] : {std::pair{network::kind_of<network::DrunetShape>(), 1024},
                                          {network::kind_of<network::UnetShape>(), 1024},
                                          {network::kind_of<network::DncnnShape>(), 512}}) {
        settings.network = network;
        settings.dtype = Precision::fp32;
        EXPECT_EQ(parts_of(settings, DeviceKind::cuda, photograph).forward.front().bytes_per_pixel, widest)
            << name_of(network);
        settings.dtype = Precision::bf16;
        EXPECT_EQ(parts_of(settings, DeviceKind::cuda, photograph).forward.front().bytes_per_pixel, widest / 2);
    }
    settings.network = network::kind_of<network::DrunetShape>();
    EXPECT_EQ(parts_of(settings, DeviceKind::cuda, photograph).forward.back().bytes_per_pixel,
              (544 + 512 * 4 / 64) / 2);
    EXPECT_EQ(parts_of(settings, DeviceKind::cuda, photograph).in_out_per_pixel, 2 * 7 + 2 * 3) << "u8 samples";
    settings.image.noise_sigma = 0.1;
    EXPECT_EQ(parts_of(settings, DeviceKind::cuda, photograph).in_out_per_pixel, 2 * 7 + 2 * 3 * 4) << "noise is f32";
    EXPECT_EQ(parts_of(settings, DeviceKind::cpu, photograph).in_out_per_pixel, 2 * 7);
}

Point of_network(network::NetworkKind network) {
    Point point;
    point.settings.network = network;
    return point;
}

TEST(IndexLimit, IsThatOfTheWidestLayer) {
    EXPECT_FALSE(exceeds_index_limit(of_network(network::kind_of<network::DncnnShape>()), {4096, 8191}));
    EXPECT_TRUE(exceeds_index_limit(of_network(network::kind_of<network::DncnnShape>()), {4096, 8192}));
    EXPECT_TRUE(exceeds_index_limit(of_network(network::kind_of<network::UnetShape>()), {4096, 4096}));
}

TEST(OutputChoice, HalfOfTheFreeMemoryIsTheBound) {
    EXPECT_FALSE(is_beyond_memory(250, 1000));
    EXPECT_TRUE(is_beyond_memory(250.5, 1000));
    EXPECT_TRUE(is_beyond_memory(1, 0)) << "nothing is left to the job's control group";
    EXPECT_TRUE(is_beyond_memory(30e9, int64_t{64} << 30U)) << "30 gigapixels of 8 bits, twice, on a host of 64 GiB";
    EXPECT_FALSE(is_beyond_memory(30e9, int64_t{256} << 30U));
}

TEST(OutputChoice, AFileWhereItCanBeElseTheReason) {
    const OutputChoice file = choose_output("");
    EXPECT_EQ(file.kind, config::OutputKind::file);
    EXPECT_NE(file.note.find("(output: file)"), std::string::npos) << file.note;
    const OutputChoice stuck = choose_output("in.png is decoded as a whole");
    EXPECT_EQ(stuck.kind, config::OutputKind::memory);
    EXPECT_NE(stuck.note.find("because in.png is decoded as a whole"), std::string::npos) << stuck.note;
}

TEST(Prediction, OneRankOfADynamicScheduleTakesAllWindows) {
    config::PointSettings settings = small_point();
    settings.schedule = config::Schedule::dynamic;
    settings.last_batch = config::LastBatch::ragged;
    settings.batch.count = 7;
    const Point point = point_of(settings);
    ASSERT_NE(tile_grid(point).num_windows() % 7, 0);
    EXPECT_DOUBLE_EQ(predict(point)->flop_busiest_rank, predict(point)->flop);
}

}  // namespace
}  // namespace pb::plan
