#include "measure/bottleneck.hpp"

#include "measure/summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pb::measure {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Shares of the stages in a pass of one second.
struct Shares {
    double gather = 0.02, h2d = 0, forward = 0.95, d2h = 0, scatter = 0.02, exchange = 0;
};

constexpr int64_t kPixels = 65536;  // one window in one batch
constexpr size_t kPasses = 8;

/// Makes two ranks with one batch each, on a machine with 1 TFLOP/s and 100 GB/s. Every pass takes a second.
record::PointTrace trace_of_shares(const Shares& shares) {
    record::PointTrace trace;
    trace.point.settings.network = network::kind_of<network::DncnnShape>();
    trace.point.source = {.extent = {256, 512}, .channels = 3};
    trace.point.num_ranks = 2;
    trace.point.halo = 0;
    trace.point.batch = 1;
    trace.prediction =
        plan::Prediction{.pixels_per_forward = kPixels, .peak_mib = 1, .flop = 1, .flop_busiest_rank = 1};
    trace.verification.outcome = record::Verification::Outcome::passed;
    trace.processed_pixels = trace.useful_pixels = 2 * kPixels;
    trace.num_patches = 2;
    trace.wall_s.assign(kPasses, 1.0);
    for (int number = 0; number < 2; ++number) {
        record::RankTrace& rank = trace.ranks.emplace_back();
        rank.rank = number;
        rank.num_windows = rank.num_patches = rank.num_batches = 1;
        rank.wall_s.assign(kPasses, 1.0);
        record::StageSeconds stages{};
        for (const auto& [stage, share] :
             {std::pair(record::Stage::gather, shares.gather), std::pair(record::Stage::h2d, shares.h2d),
              std::pair(record::Stage::forward, shares.forward), std::pair(record::Stage::d2h, shares.d2h),
              std::pair(record::Stage::scatter, shares.scatter), std::pair(record::Stage::exchange, shares.exchange)})
            stages[static_cast<size_t>(stage)] = share;
        rank.stage_s.assign(kPasses, stages);
        rank.forward_call_s.assign(3, shares.forward);
        for (const auto& [bound, name] : enum_table<record::Bound>()) rank.bounds[bound] = 100;
        rank.bounds[record::Bound::matmul_tflops] = rank.bounds[record::Bound::conv_tflops] = 1;
    }
    return trace;
}

/// Makes a trace with one call of `seconds`, which takes the whole pass.
record::PointTrace trace_of_network(double seconds) {
    record::PointTrace trace = trace_of_shares({});
    trace.wall_s.assign(kPasses, seconds / 0.95);
    for (auto& rank : trace.ranks) {
        rank.wall_s = trace.wall_s;
        for (auto& stages : rank.stage_s)
            for (double& stage : stages) stage *= trace.wall_s.front();
        rank.forward_call_s.assign(3, seconds);
    }
    return trace;
}

double flop_of_call() {
    return 2.0 * network::network_facts(network::kind_of<network::DncnnShape>()).mac_per_pixel * kPixels;
}
double bytes_of_call() {
    return 4.0 * network::network_facts(network::kind_of<network::DncnnShape>()).values_per_pixel * kPixels;
}

Bottleneck found_in(const record::PointTrace& trace) { return summarise(trace).bottleneck.value(); }

TEST(Bottleneck, ANetworkNearTheConvolutionRateIsComputeBound) {
    const Summary summary = summarise(trace_of_network(flop_of_call() / 0.8e12));
    EXPECT_NEAR(summary.forward_of_conv_percent.value(), 80, 1e-6);
    EXPECT_EQ(summary.bottleneck->limit, Limit::compute);
    EXPECT_THAT(summary.bottleneck->evidence, AllOf(HasSubstr("network "), HasSubstr(" 95.0 % "), HasSubstr(" 80 % ")));
    EXPECT_THAT(summary.bottleneck->advice, HasSubstr("dtype"));
}

// The text must state the same share as the table: 0.885 beside 95 % would confuse readers.
TEST(Bottleneck, TheShareOfTheNetworkIsThatOfTheTable) {
    record::PointTrace trace = trace_of_network(1);
    for (auto& rank : trace.ranks) rank.forward_call_s.assign(3, 0.885 * trace.wall_s.front());
    const Summary summary = summarise(trace);
    EXPECT_NEAR(summary.efficiency.value(), 0.885, 1e-9);
    EXPECT_NEAR(summary.bottleneck->share, 0.885, 1e-9);
    EXPECT_THAT(summary.bottleneck->evidence, AllOf(HasSubstr("network "), HasSubstr(" 88.5 % "), HasSubstr(" 7 % ")));
    for (auto& rank : trace.ranks) rank.forward_call_s.assign(3, 0.94 * trace.wall_s.front());
    EXPECT_THAT(found_in(trace).evidence, AllOf(HasSubstr(" 94.0 % "), Not(HasSubstr("longer")))) << "by 1 %";
    for (auto& rank : trace.ranks) rank.forward_call_s.clear();
    EXPECT_THAT(found_in(trace).evidence, AllOf(HasSubstr("network "), HasSubstr(" 95.0 % ")));
}

TEST(Bottleneck, ANetworkNearTheCopyRateIsMemoryBound) {
    record::PointTrace trace = trace_of_network(bytes_of_call() / 70e9);
    for (auto& rank : trace.ranks) rank.bounds[record::Bound::conv_tflops] = 100;
    const Bottleneck found = found_in(trace);
    EXPECT_EQ(found.limit, Limit::memory);
    EXPECT_THAT(found.evidence, HasSubstr("70 % of the copy rate"));
    EXPECT_THAT(found.advice, HasSubstr("precision"));
}

TEST(Bottleneck, AdvisesOnlyWhatThePointCanStillDo) {
    record::PointTrace trace = trace_of_network(bytes_of_call() / 70e9);
    for (auto& rank : trace.ranks) rank.bounds[record::Bound::conv_tflops] = 100;
    config::PointSettings& settings = trace.point.settings;
    settings.layout = Layout::contiguous;
    EXPECT_THAT(found_in(trace).advice, HasSubstr("channels_last"));
    trace.point.device = DeviceKind::cuda;
    EXPECT_THAT(found_in(trace).advice, Not(HasSubstr("channels_last"))) << "is the slower one in fp32";
    trace.point.device = DeviceKind::cpu;
    settings.layout = Layout::channels_last;
    EXPECT_THAT(found_in(trace).advice, Not(HasSubstr("channels_last")));
    settings.dtype = Precision::tf32;
    EXPECT_THAT(found_in(trace).advice, HasSubstr("precision")) << "its values have 32 bits";
    settings.dtype = Precision::fp32;
    settings.engine = EngineKind::native;
    EXPECT_THAT(found_in(trace).advice, AllOf(Not(HasSubstr("precision")), HasSubstr("batch")));
}

TEST(Bottleneck, ANetworkWhoseArithmeticHasNoBoundIsNotCalledMemoryBound) {
    record::PointTrace trace = trace_of_network(bytes_of_call() / 70e9);
    for (auto& rank : trace.ranks) rank.bounds[record::Bound::conv_tflops].reset();
    EXPECT_EQ(found_in(trace).limit, Limit::compute);
}

TEST(Bottleneck, ShortConvolutionsFarFromEveryBoundAreLaunchBound) {
    record::PointTrace trace = trace_of_network(20 * 12e-6);  // DnCNN has 20 convolutions
    for (auto& rank : trace.ranks) {
        rank.bounds[record::Bound::conv_tflops] = 5000;
        rank.bounds[record::Bound::device_copy_gb_per_s] = 50000;
    }
    const Bottleneck found = found_in(trace);
    EXPECT_EQ(found.limit, Limit::launch);
    EXPECT_THAT(found.evidence, HasSubstr("12 us a convolution"));
    EXPECT_THAT(found.advice, AllOf(HasSubstr("batch"), HasSubstr("cuda_graph")));
    for (auto& rank : trace.ranks)
        rank.bounds[record::Bound::device_copy_gb_per_s] = bytes_of_call() / (20 * 12e-6) / 1e9;
    EXPECT_EQ(found_in(trace).limit, Limit::memory) << "short, but at a bound";
}

TEST(Bottleneck, SlowConvolutionsFarFromEveryBoundAreNotLaunchBound) {
    const Bottleneck found = found_in(trace_of_network(10));
    EXPECT_EQ(found.limit, Limit::compute);
    EXPECT_THAT(found.evidence, HasSubstr(" 1 % of the convolution rate"));
}

TEST(Bottleneck, WithoutBoundsTheNetworkCountsAsComputeAndSaysSo) {
    record::PointTrace trace = trace_of_shares({});
    for (auto& rank : trace.ranks) rank.bounds = {};
    const Bottleneck found = found_in(trace);
    EXPECT_EQ(found.limit, Limit::compute);
    EXPECT_THAT(found.evidence, HasSubstr("bounds: on"));
}

TEST(Bottleneck, CuttingAndWritingIsHostBound) {
    const Bottleneck found = found_in(trace_of_shares({.gather = 0.2, .forward = 0.69, .scatter = 0.11}));
    EXPECT_EQ(found.limit, Limit::host);
    EXPECT_DOUBLE_EQ(found.share, 0.31);
    EXPECT_THAT(found.evidence, AllOf(StartsWith("gather and scatter "), HasSubstr(" 31 % "), HasSubstr("one thread")));
    EXPECT_THAT(found.advice, HasSubstr("overlap: on"));
}

TEST(Bottleneck, CopiesAreTransferBound) {
    record::PointTrace trace = trace_of_shares({.h2d = 0.25, .forward = 0.5, .d2h = 0.2});
    for (auto& rank : trace.ranks) {  // three values a pixel
        rank.bounds[record::Bound::h2d_gb_per_s] = 12e-9 * kPixels / 0.25 / 0.42;
        rank.bounds[record::Bound::d2h_gb_per_s] = 12e-9 * kPixels / 0.2 / 0.77;
    }
    const Bottleneck found = found_in(trace);
    EXPECT_EQ(found.limit, Limit::transfer);
    EXPECT_THAT(found.evidence, AllOf(HasSubstr(" 45 % "), HasSubstr("42 % of the rate to the device"),
                                      HasSubstr("77 % of the rate back")));
}

TEST(Bottleneck, WhatHidesBehindTheNetworkCostsNothing) {
    const Bottleneck found = found_in(trace_of_shares({.gather = 0.4, .h2d = 0.5, .forward = 0.97, .d2h = 0.5}));
    EXPECT_EQ(found.limit, Limit::compute);
    const Bottleneck shown = found_in(trace_of_shares({.gather = 0.9, .h2d = 0.3, .forward = 0.6}));
    EXPECT_EQ(shown.limit, Limit::host);
    EXPECT_THAT(shown.evidence, StartsWith("gather"));
}

TEST(Bottleneck, TheWayToTheRootIsExchangeBound) {
    record::PointTrace trace = trace_of_shares({.forward = 0.5, .exchange = 0.4});
    Bottleneck found = found_in(trace);
    EXPECT_EQ(found.limit, Limit::exchange);
    EXPECT_THAT(found.evidence, AllOf(HasSubstr("root "), HasSubstr(" 40 %")));
    EXPECT_THAT(found.advice, AllOf(HasSubstr("fewer nodes"), Not(HasSubstr("cores of its own"))));
    trace.point.settings.halo.kind = config::HaloSetting::Kind::exchanged;
    found = found_in(trace);
    EXPECT_THAT(found.evidence, HasSubstr("waiting for border rows"));
    EXPECT_THAT(found.advice, AllOf(HasSubstr("cores of its own"), Not(HasSubstr("fewer nodes"))));
}

TEST(Bottleneck, WaitingForTheSlowestRankIsImbalance) {
    record::PointTrace trace = trace_of_shares({});
    trace.ranks[1].wall_s.assign(kPasses, 0.4);
    const Bottleneck found = found_in(trace);
    EXPECT_EQ(found.limit, Limit::imbalance);
    EXPECT_NEAR(found.share, 0.3, 1e-12);
    EXPECT_THAT(found.evidence, AllOf(HasSubstr("rank 0"), HasSubstr("30 %")));
    trace.wall_s.assign(kPasses, 2.0);  // after the ranks, the exchange takes another second
    EXPECT_NE(found_in(trace).limit, Limit::imbalance) << "15 % of the pipeline";
    trace.ranks[0].wall_s = trace.wall_s;
    trace.ranks[1].wall_s.assign(kPasses, 0.8);
    EXPECT_NEAR(found_in(trace).share, 0.3, 1e-12) << "passes of two seconds";
}

TEST(Bottleneck, CallsWithoutACoreAreNoComputing) {
    record::PointTrace trace = trace_of_shares({.forward = 0.8});
    for (auto& rank : trace.ranks) rank.cpu_s.assign(kPasses, 0.8);
    EXPECT_EQ(found_in(trace).limit, Limit::compute);
    trace.ranks[1].cpu_s.assign(kPasses, 0.4);
    const Bottleneck found = found_in(trace);
    EXPECT_EQ(found.limit, Limit::starved);
    EXPECT_NEAR(found.share, 0.4, 1e-12);
    EXPECT_THAT(found.evidence, StartsWith("a rank's forward calls had no core for 40 % of the pipeline"));
}

TEST(Bottleneck, AMedianFarAboveTheFastestPassIsNoise) {
    record::PointTrace trace = trace_of_shares({});
    trace.wall_s[5] = 0.7;
    const Bottleneck found = found_in(trace);
    EXPECT_EQ(found.limit, Limit::noise);
    EXPECT_THAT(found.evidence, AllOf(HasSubstr(" 8 passes "), HasSubstr(" 30 % ")));
    trace.wall_s.resize(5);
    trace.wall_s[1] = 0.7;
    for (auto& rank : trace.ranks) {
        rank.wall_s.resize(5);
        rank.stage_s.resize(5);
    }
    EXPECT_EQ(found_in(trace).limit, Limit::compute) << "five passes cannot tell";
}

TEST(Bottleneck, OfAMixtureTheLargestLossIsNamedAndTheOthersBesideIt) {
    record::PointTrace trace = trace_of_shares({.gather = 0.3, .forward = 0.65, .scatter = 0.05});
    trace.ranks[1].wall_s.assign(kPasses, 0.5);
    const Bottleneck both = found_in(trace);
    EXPECT_EQ(both.limit, Limit::host);
    EXPECT_THAT(both.evidence, HasSubstr("imbalance 25 %"));
    ASSERT_EQ(both.losses.size(), 2U);
    EXPECT_EQ(both.losses[1].limit, Limit::imbalance);
    trace.ranks[1].wall_s.assign(kPasses, 0.2);
    EXPECT_EQ(found_in(trace).limit, Limit::imbalance);
    const Bottleneck one = found_in(trace_of_shares({.gather = 0.3, .h2d = 0.05, .forward = 0.65}));
    EXPECT_EQ(one.losses.size(), 2U);
    EXPECT_THAT(one.evidence, Not(HasSubstr("beside"))) << "5 % are not worth naming";
}

TEST(Bottleneck, SmallLossesTogetherLeaveTheNetworkTheLimitAndAreKept) {
    const Bottleneck found = found_in(trace_of_shares({.gather = 0.1, .h2d = 0.1, .forward = 0.7, .exchange = 0.1}));
    EXPECT_EQ(found.limit, Limit::compute);
    EXPECT_EQ(found.losses.size(), 3U);
}

TEST(Bottleneck, APointWithoutTimesHasNone) {
    record::PointTrace trace = trace_of_shares({});
    trace.verification.outcome = record::Verification::Outcome::failed;
    EXPECT_FALSE(summarise(trace).bottleneck);
    trace.status = record::PointStatus::oom;
    EXPECT_FALSE(summarise(trace).bottleneck);
}

TEST(Bottleneck, EveryClassHasAMeaningAndAdvice) {
    ASSERT_EQ(limit_meanings().size(), enum_table<Limit>().size());
    for (size_t i = 0; i < limit_meanings().size(); ++i) {
        EXPECT_EQ(limit_meanings()[i].limit, enum_table<Limit>()[i].first);
        EXPECT_NE(std::string(limit_meanings()[i].when), "");
        EXPECT_NE(limit_meanings()[i].advice_text(), "");
    }
}

TEST(BoundFigures, RatesAreThoseOfOneRankWhileItWorks) {
    record::PointTrace trace = trace_of_shares({.gather = 0.1, .h2d = 0.2, .forward = 0.5, .d2h = 0.1, .scatter = 0.1});
    trace.ranks[1].bounds[record::Bound::conv_tflops] = 3;
    const Summary summary = summarise(trace);
    EXPECT_DOUBLE_EQ(summary.bounds[record::Bound::conv_tflops].value(), 1) << "the least";
    EXPECT_NEAR(summary.forward_tflops.value(), flop_of_call() / 0.5 / 1e12, 1e-12);
    EXPECT_NEAR(summary.forward_of_matmul_percent.value(), 100 * flop_of_call() / 0.5e12, 1e-9);
    EXPECT_NEAR(summary.forward_of_conv_percent.value(), 50 * flop_of_call() / 0.5e12, 1e-9) << "of the mean";
    // f32 scene: gather reads 3 values and writes 3; scatter does the same.
    EXPECT_NEAR(summary.host_of_copy_percent.value(), 100 * 4.0 * 12 * kPixels / 0.2 / 100e9, 1e-9);
    EXPECT_NEAR(summary.h2d_of_bound_percent.value(), 100 * 4.0 * 3 * kPixels / 0.2 / 100e9, 1e-9);
    EXPECT_NEAR(summary.d2h_of_bound_percent.value(), 100 * 4.0 * 3 * kPixels / 0.1 / 100e9, 1e-9);
    trace.ranks[0].stage_s[0][static_cast<size_t>(record::Stage::h2d)] *= 100;
    EXPECT_DOUBLE_EQ(summarise(trace).h2d_of_bound_percent.value(), summary.h2d_of_bound_percent.value()) << "median";
}

TEST(BoundFigures, TheBoundOfNativeIsTheMatrixProductForWhatItExecutes) {
    record::PointTrace trace = trace_of_shares({.forward = 0.9});
    const double of_torch = summarise(trace).forward_of_matmul_percent.value();
    trace.point.settings.engine = EngineKind::native;
    for (auto& rank : trace.ranks) rank.bounds[record::Bound::conv_tflops].reset();
    const Summary summary = summarise(trace);
    EXPECT_LT(summary.forward_of_matmul_percent.value(), 0.27 * of_torch);
    EXPECT_NEAR(summary.executed_tflops.value() / summary.forward_tflops.value(),
                summary.forward_of_matmul_percent.value() / of_torch, 1e-9);
    EXPECT_THAT(summary.bottleneck.value().evidence, HasSubstr("of the rate of a matrix product"));
}

TEST(BoundFigures, WindowsTravelWithTheirHaloAndTheirSigma) {
    record::PointTrace trace = trace_of_shares({.gather = 0.1, .h2d = 0.2, .forward = 0.5, .d2h = 0.1, .scatter = 0.1});
    trace.processed_pixels = 2 * trace.useful_pixels;
    Summary summary = summarise(trace);
    EXPECT_NEAR(summary.h2d_of_bound_percent.value(), 100 * 4.0 * 6 * kPixels / 0.2 / 100e9, 1e-9);
    EXPECT_NEAR(summary.d2h_of_bound_percent.value(), 100 * 4.0 * 6 * kPixels / 0.1 / 100e9, 1e-9);
    EXPECT_NEAR(summary.host_of_copy_percent.value(), 100 * 4.0 * (2 * 6 + 6) * kPixels / 0.2 / 100e9, 1e-9);
    trace.point.settings.network = network::kind_of<network::DrunetShape>();  // one more value for each gathered pixel
    EXPECT_NEAR(summarise(trace).host_of_copy_percent.value(), 100 * 4.0 * (2 * 7 + 6) * kPixels / 0.2 / 100e9, 1e-9);
}

TEST(BoundFigures, RowsTravelOnce) {
    record::PointTrace trace = trace_of_shares({.gather = 0.1, .h2d = 0.2, .forward = 0.5, .d2h = 0.1, .scatter = 0.1});
    trace.processed_pixels = 1.75 * trace.useful_pixels;  // by their arithmetic
    trace.input_pixels = 2 * trace.useful_pixels;
    trace.point.band_rows = 64;
    const Summary summary = summarise(trace);
    EXPECT_NEAR(summary.h2d_of_bound_percent.value(), 100 * 4.0 * 6 * kPixels / 0.2 / 100e9, 1e-9);
    EXPECT_NEAR(summary.d2h_of_bound_percent.value(), 100 * 4.0 * 3 * kPixels / 0.1 / 100e9, 1e-9) << "of the image";
    EXPECT_NEAR(summary.host_of_copy_percent.value(), 100 * 4.0 * (2 * 6 + 6) * kPixels / 0.2 / 100e9, 1e-9);
}

TEST(BoundFigures, CallsAreCountedByTheirArithmetic) {
    record::PointTrace trace = trace_of_shares({.forward = 0.5});
    for (auto& rank : trace.ranks) rank.work_per_call = 0.5;
    trace.computed_pixels = kPixels;  // half of what is processed
    EXPECT_NEAR(summarise(trace).forward_tflops.value(), flop_of_call() / 0.5 / 1e12, 1e-12);
}

TEST(BoundFigures, SamplesOfEightBitsAreAQuarterOfTheTraffic) {
    record::PointTrace trace = trace_of_shares({});
    const double wide = summarise(trace).host_of_copy_percent.value();
    trace.sample_type = DType::u8;
    EXPECT_NEAR(summarise(trace).host_of_copy_percent.value(), wide * 15 / 24, 1e-9) << "3 of 12 bytes each way";
    trace.point.device = DeviceKind::cuda;
    EXPECT_NEAR(summarise(trace).host_of_copy_percent.value(), wide / 4, 1e-9) << "copied as they are";
}

TEST(BoundFigures, TheExchangeIsSetBesideTheLinkOfTheSameRun) {
    record::PointTrace trace = trace_of_shares({.forward = 0.5, .exchange = 0.4});
    trace.exchange = {.carrier = "MPI", .bytes = 1 << 20, .link_bytes_per_s = 4e6, .link_latency_s = 1e-5};
    Summary summary = summarise(trace);
    const double rate = (1 << 20) / 0.4;
    EXPECT_DOUBLE_EQ(summary.exchanged_mib.value(), 1);
    EXPECT_NEAR(summary.exchange_gb_per_s.value(), rate / 1e9, 1e-12);
    EXPECT_DOUBLE_EQ(summary.link_gb_per_s.value(), 0.004);
    EXPECT_NEAR(summary.exchange_of_link_percent.value(), 100 * rate / 4e6, 1e-9);
    EXPECT_THAT(summary.bottleneck.value().evidence, HasSubstr(" 66 % of the link"));
    EXPECT_THAT(summary.notes, Contains(AllOf(HasSubstr("by MPI: 1.00 MiB a pass"), HasSubstr("66 % of the link"))));
    trace.exchange->link_bytes_per_s.reset();
    summary = summarise(trace);
    EXPECT_FALSE(summary.link_gb_per_s || summary.exchange_of_link_percent);
    EXPECT_TRUE(summary.exchange_gb_per_s);
    trace.point.exchanges_rows = true;
    EXPECT_FALSE(summarise(trace).exchange_gb_per_s) << "border rows travel in the same stage";
    trace.exchange.reset();
    EXPECT_FALSE(summarise(trace).exchanged_mib);
}

TEST(BoundFigures, WhatWasNotMeasuredIsAbsent) {
    record::PointTrace trace = trace_of_shares({});
    trace.ranks[1].bounds[record::Bound::conv_tflops].reset();
    const Summary summary = summarise(trace);
    EXPECT_FALSE(summary.bounds[record::Bound::conv_tflops] || summary.forward_of_conv_percent);
    EXPECT_TRUE(summary.forward_of_matmul_percent);
    EXPECT_FALSE(summary.h2d_of_bound_percent) << "no copies took place";
    trace.ranks[1].num_batches = 0;  // an idle rank needs no bounds
    EXPECT_TRUE(summarise(trace).forward_of_conv_percent);
    for (auto& rank : trace.ranks) rank.forward_call_s.clear();
    EXPECT_FALSE(summarise(trace).forward_tflops);
}

}  // namespace
}  // namespace pb::measure
