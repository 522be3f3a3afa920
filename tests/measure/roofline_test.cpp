#include "measure/roofline.hpp"

#include "support/study_points.hpp"
#include "three_rank_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pb::measure {
namespace {

using testing::IsEmpty;

/// DnCNN for colour has 667008 MAC and 2441 values per pixel.
constexpr double kIntensityFp32 = 1334016.0 / (4 * 2441), kIntensityBf16 = 1334016.0 / (2 * 2441);

/// Bounds of each of the three ranks.
struct Bounds {
    std::array<double, 3> matmul, conv, copy;
};

record::PointTrace bounded_trace(int64_t index, const Bounds& bounds) {
    record::PointTrace trace = three_rank_trace();
    trace.point.index = index;
    for (auto& rank : trace.ranks) {
        const auto number = static_cast<size_t>(rank.rank);
        rank.bounds[record::Bound::matmul_tflops] = bounds.matmul.at(number);
        rank.bounds[record::Bound::conv_tflops] = bounds.conv.at(number);
        rank.bounds[record::Bound::device_copy_gb_per_s] = bounds.copy.at(number);
    }
    return trace;
}

std::vector<Roofline> rooflines_of(const std::vector<record::PointTrace>& traces) {
    std::vector<Summary> summaries;
    summaries.reserve(traces.size());
    for (const auto& trace : traces) summaries.push_back(summarise(trace));
    return find_rooflines(study_points(traces, summaries));
}

TEST(Roofline, TakesTheLeastBoundsOfPointsAndRanks) {
    const auto all = rooflines_of({bounded_trace(4, {{3, 2, 5}, {1, 1.5, 2}, {12, 40, 30}}),
                                   bounded_trace(7, {{4, 4, 4.5}, {0.5, 3, 2}, {20, 25, 90}})});
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].device, DeviceKind::cpu);
    EXPECT_EQ(all[0].dtype, Precision::fp32);
    EXPECT_DOUBLE_EQ(all[0].copy_gb_per_s, 12);
    EXPECT_DOUBLE_EQ(all[0].matmul->tflops, 2);
    EXPECT_DOUBLE_EQ(all[0].matmul->ridge_flop_per_byte, 2000 / 12.0);
    EXPECT_DOUBLE_EQ(all[0].conv->tflops, 0.5);
    EXPECT_DOUBLE_EQ(all[0].conv->ridge_flop_per_byte, 500 / 12.0);
    ASSERT_EQ(all[0].points.size(), 2U);
    EXPECT_EQ(all[0].points[1].point, 7);
    EXPECT_DOUBLE_EQ(all[0].points[1].flop_per_byte, kIntensityFp32) << "whatever was measured: it is the network's";
    // 2 Mpx of 667008 multiply-accumulates take 0.8 + 1 + 0.6 s.
    EXPECT_NEAR(all[0].points[0].tflops, 1.11168, 1e-7);
}

TEST(Roofline, IsOfOnePrecisionAndDevice) {
    auto half = bounded_trace(5, {{6, 6, 6}, {6, 6, 6}, {50, 60, 70}}), gpu = half;
    half.point.settings.dtype = Precision::bf16;
    gpu.point.device = DeviceKind::cuda;
    const auto all = rooflines_of({bounded_trace(4, {{3, 2, 5}, {1, 1, 2}, {12, 40, 30}}), half, gpu});
    ASSERT_EQ(all.size(), 3U);
    EXPECT_DOUBLE_EQ(all[1].points.at(0).flop_per_byte, kIntensityBf16);
    EXPECT_DOUBLE_EQ(all[1].copy_gb_per_s, 50);
    EXPECT_EQ(all[2].device, DeviceKind::cuda);
}

TEST(Roofline, TellsWhatIsExecutedFromWhatTheLayersSay) {
    auto trace = bounded_trace(4, {{3, 2, 5}, {1, 1, 2}, {12, 40, 30}});
    const auto torch = rooflines_of({trace}).at(0).points.at(0);
    EXPECT_DOUBLE_EQ(torch.executed_tflops, torch.tflops);
    EXPECT_DOUBLE_EQ(torch.executed_flop_per_byte, torch.flop_per_byte);
    trace.point.settings.engine = EngineKind::native;
    const auto native = rooflines_of({trace}).at(0).points.at(0);
    EXPECT_DOUBLE_EQ(native.tflops, torch.tflops);
    // 18 layers of 64 x 64 x 9 MAC by 36 products for 16 pixels; the first and the last, 1728 each, as they are.
    EXPECT_NEAR(native.executed_tflops / native.tflops, (2 * 1728 + 18 * 36864 / 4.0) / 667008, 1e-9);
    EXPECT_DOUBLE_EQ(native.flop_per_byte, torch.flop_per_byte);
    EXPECT_NEAR(native.executed_flop_per_byte / native.flop_per_byte, native.executed_tflops / native.tflops, 1e-9);
    trace.point.winograd_tile = 2;
    EXPECT_NEAR(rooflines_of({trace}).at(0).points.at(0).executed_tflops / native.tflops,
                (2 * 1728 + 18 * 36864 / 2.25) / 667008, 1e-9);
}

TEST(Roofline, IsAbsentWithoutBoundsOrTimes) {
    EXPECT_THAT(rooflines_of({three_rank_trace()}), IsEmpty());
    auto trace = bounded_trace(4, {{3, 2, 5}, {1, 1, 2}, {12, 40, 30}});
    for (auto& rank : trace.ranks) rank.bounds[record::Bound::conv_tflops].reset();
    EXPECT_FALSE(rooflines_of({trace}).at(0).conv) << "one roof may be missing";
    for (auto& rank : trace.ranks) rank.forward_call_s.clear();
    EXPECT_THAT(rooflines_of({trace}), IsEmpty());
}

}  // namespace
}  // namespace pb::measure
