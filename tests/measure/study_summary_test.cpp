#include "measure/study/study_summary.hpp"

#include "support/study_points.hpp"
#include "sweep_traces.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

namespace pb::measure {
namespace {

StudySummary summarise_all(const std::vector<record::PointTrace>& traces,
                           const plan::Topology& topology = plan::make_local_topology(1)) {
    std::vector<Summary> summaries;
    summaries.reserve(traces.size());
    for (const auto& trace : traces) summaries.push_back(summarise(trace));
    return summarise_study(study_points(traces, summaries), topology);
}

TEST(StudySummary, TimesAWindowInBothScopes) {
    const StudySummary study = summarise_all(batch_sweep());
    ASSERT_EQ(study.batch_times.size(), 2U);
    const auto& forward = study.batch_times[0];
    EXPECT_EQ(forward.scope, TimeScope::forward);
    ASSERT_EQ(forward.samples.size(), 3U);
    EXPECT_EQ(forward.samples[0].batch, 1) << "sorted by batch";
    EXPECT_DOUBLE_EQ(forward.samples[0].window_s, 1.6);
    EXPECT_DOUBLE_EQ(forward.samples[2].window_s, 0.8) << "a call of 3.2 s has four windows";
    EXPECT_DOUBLE_EQ(forward.samples[2].interval->low, 0.9 * 0.8);
    const auto& pipeline = study.batch_times[1];
    EXPECT_EQ(pipeline.scope, TimeScope::pipeline);
    EXPECT_DOUBLE_EQ(pipeline.samples[1].window_s, 9.6 / 8);
    EXPECT_EQ(pipeline.samples[1].point, 2);
    EXPECT_EQ(pipeline.fit.fastest_batch, 4);
    EXPECT_EQ(pipeline.label, "dncnn-p256-h20-fp32");
}

TEST(StudySummary, OfSeveralRanksTheSlowestCallsCount) {
    auto traces = batch_sweep();
    for (auto& trace : traces) {
        record::RankTrace slower = trace.ranks.front(), faster = slower;
        for (double& call_s : slower.forward_call_s) call_s *= 2;
        for (double& call_s : faster.forward_call_s) call_s /= 2;
        trace.ranks = {trace.ranks.front(), slower, faster};
        trace.point.num_ranks = 3;
    }
    const auto forward = summarise_all(traces, plan::make_local_topology(3)).batch_times.at(0);
    EXPECT_DOUBLE_EQ(forward.samples.at(0).window_s, 2 * 1.6);
    EXPECT_DOUBLE_EQ(forward.samples.at(0).interval->low, 2 * 0.9 * 1.6);
}

TEST(StudySummary, WindowsOfDifferentWorkCountByTheirMean) {
    auto traces = batch_sweep();
    for (auto& trace : traces) {
        trace.ranks[0].num_windows = 7;
        trace.ranks[0].work_per_call = 0.75;  // the timed call is that of the batch with the most work
    }
    const auto window_s = [&] { return summarise_all(traces).batch_times.at(0).samples.at(2).window_s; };
    EXPECT_DOUBLE_EQ(window_s(), 0.75 * 3.2 / 4) << "the last batch is padded to four";
    for (auto& trace : traces) trace.point.settings.last_batch = config::LastBatch::ragged;
    EXPECT_DOUBLE_EQ(window_s(), 2 * 0.75 * 3.2 / 7) << "two calls compute seven windows";
    EXPECT_DOUBLE_EQ(summarise_all(traces).batch_times.at(0).samples.at(2).interval->low, 0.9 * 2 * 0.75 * 3.2 / 7);
    for (auto& trace : traces) trace.point.band_rows = 64;
    EXPECT_DOUBLE_EQ(window_s(), 3.2 / 4) << "a call takes full bands, of which a pass has less than one each";
}

TEST(StudySummary, OfAnUnevenSplitTheMostWindowsCount) {
    auto traces = batch_sweep();
    for (auto& trace : traces) {
        record::RankTrace idler = trace.ranks.front();
        idler.num_windows = idler.num_patches = 4;
        trace.ranks.push_back(idler);
        trace.point.num_ranks = 2;
    }
    const auto pipeline = summarise_all(traces, plan::make_local_topology(2)).batch_times.at(1);
    EXPECT_DOUBLE_EQ(pipeline.samples.at(1).window_s, 9.6 / 8);
}

TEST(StudySummary, MemoryGrowsWithTheBatchUnderALimit) {
    auto traces = batch_sweep();
    EXPECT_FALSE(summarise_all(traces).batch_memory.at(0).predicted_batch) << "nobody said how much there is";
    for (auto& trace : traces) trace.point.settings.memory_limit_mib = 405;
    const auto memory = summarise_all(traces).batch_memory.at(0);
    EXPECT_NEAR(memory.fit.base_mib, 100, 1e-9);
    EXPECT_NEAR(memory.fit.per_window_mib, 30, 1e-9);
    EXPECT_EQ(memory.predicted_batch, 10);
    traces.push_back(sample_point(8, 8, 3.2, 0));  // without a measured peak
    traces.push_back(sample_point(16, 8, 3.2, 900));
    traces.back().status = record::PointStatus::oom;
    for (auto& trace : traces) trace.point.settings.memory_limit_mib = 405;
    EXPECT_EQ(summarise_all(traces).batch_memory.at(0).samples.size(), 3U);
}

TEST(StudySummary, MemoryIsThatOfOneFormOfTheWeights) {
    auto traces = batch_sweep();
    traces.push_back(sample_point(8, 8, 3.2, 90));
    traces.back().point.winograd_tile = 2;
    const auto memory_of = [&] { return summarise_all(traces).batch_memory.at(0); };
    EXPECT_EQ(memory_of().samples.size(), 3U) << "the last one has smaller weights";
    EXPECT_NEAR(memory_of().fit.per_window_mib, 30, 1e-9);
    for (auto& trace : traces) trace.point.winograd_tile = 2;
    EXPECT_EQ(memory_of().samples.size(), 4U);
    traces.push_back(sample_point(16, 8, 3.2, 900));  // fits with neither form, so it has the usual one
    traces.back().status = record::PointStatus::oom;
    EXPECT_EQ(memory_of().samples.size(), 4U);
    traces.push_back(sample_point(32, 8, 3.2, 900));
    EXPECT_EQ(memory_of().samples.size(), 4U) << "one batch is no line";
}

TEST(StudySummary, TheSmallestDeviceIsTheLimit) {
    auto traces = batch_sweep();
    for (auto& trace : traces) {
        trace.point.device = DeviceKind::cuda;
        trace.point.num_ranks = 2;
    }
    plan::Topology topology = plan::make_local_topology(3);
    for (auto& place : topology.ranks) place.memory_bytes = int64_t{1000 - 300 * place.rank} << 20;
    const auto study = summarise_all(traces, topology);
    EXPECT_DOUBLE_EQ(study.batch_memory.at(0).limit_mib.value(), 700) << "rank 2 takes no part";
    for (auto& trace : traces) trace.point.settings.placement = config::Placement::scatter;
    topology.ranks[2].node = 1;
    topology.ranks[2].local_rank = 0;
    EXPECT_DOUBLE_EQ(summarise_all(traces, topology).batch_memory.at(0).limit_mib.value(), 400) << "rank 1 does not";
    topology.ranks[2].memory_bytes = 0;
    EXPECT_DOUBLE_EQ(summarise_all(traces, topology).batch_memory.at(0).limit_mib.value(), 1000) << "it is unknown";
    for (const size_t rank : {0, 1}) topology.ranks[rank].device_uuid = "GPU-0";
    for (auto& trace : traces) trace.point.settings.placement = config::Placement::compact;
    EXPECT_DOUBLE_EQ(summarise_all(traces, topology).batch_memory.at(0).limit_mib.value(), 350) << "half of 700";
    for (auto& trace : traces) trace.point.device = DeviceKind::cpu;
    EXPECT_FALSE(summarise_all(traces, topology).batch_memory.at(0).limit_mib) << "a device's memory is not the CPU's";
}

TEST(StudySummary, OnlyPointsThatDifferInTheBatchAloneAreOneGroup) {
    auto traces = batch_sweep();
    traces[0].point.settings.patch = 128;
    const auto study = summarise_all(traces);
    ASSERT_EQ(study.batch_times.size(), 2U);
    EXPECT_EQ(study.batch_times[0].samples.size(), 2U);
    traces[1].point.settings.overlap = false;
    EXPECT_TRUE(summarise_all(traces).batch_times.empty());
}

TEST(StudySummary, GroupsWithOneLabelAreToldApart) {
    auto traces = batch_sweep();
    auto others = batch_sweep();
    for (auto& trace : others) {
        trace.point.index += 10;
        trace.point.settings.overlap = false;
    }
    traces.insert(traces.end(), others.begin(), others.end());
    const auto study = summarise_all(traces);
    ASSERT_EQ(study.batch_memory.size(), 2U);
    EXPECT_EQ(study.batch_memory[1].label, "dncnn-p256-h20-fp32 (point 14)");
}

TEST(StudySummary, PointsWithoutFiguresAreLeftOut) {
    auto traces = batch_sweep();
    traces[1].status = record::PointStatus::oom;
    traces[2].verification.outcome = record::Verification::Outcome::failed;
    const auto study = summarise_all(traces);
    EXPECT_TRUE(study.batch_times.empty()) << "one sample is no sweep, and a wrong run has no speed";
    EXPECT_EQ(study.points.size(), 1U);
}

TEST(StudySummary, HoldsWhatThePageDraws) {
    auto traces = batch_sweep();
    for (auto& trace : traces)
        for (const auto& [bound, name] : enum_table<record::Bound>()) trace.ranks[0].bounds[bound] = 100;
    for (const int64_t width : {1000, 2000, 3000}) {
        traces.push_back(sample_point(8, 8, 3.2, 100));
        traces.back().point.index = width;
        traces.back().point.source.extent.w = width;
    }
    const auto study = summarise_all(traces);
    EXPECT_EQ(study.points.size(), 6U);
    EXPECT_EQ(study.rooflines.size(), 1U);
    EXPECT_EQ(study.batch_panels.size(), 1U);
    ASSERT_EQ(study.width_series.size(), 1U);
    EXPECT_EQ(study.width_series[0].all.points, (std::vector<int64_t>{1000, 2000, 3000}));
}

TEST(StudySummary, TheSearchForetellsItsAnswer) {
    record::PointTrace trace = searched_point();
    const auto largest = summarise_all({trace}).largest_batches.at(0);
    EXPECT_NEAR(largest.fit->per_window_mib, 30, 1e-9) << "of the doublings only";
    EXPECT_EQ(largest.predicted_batch, 20);
    EXPECT_DOUBLE_EQ(largest.prediction_error.value(), 4);
    trace.batch_search->limited_by = record::BatchLimit::windows;
    EXPECT_FALSE(summarise_all({trace}).largest_batches.at(0).prediction_error) << "memory was not the limit";
}

TEST(StudySummary, PrecisionsStandBesideFp32) {
    record::PointTrace base = sample_point(4, 8, 3.2, 220), half = sample_point(4, 4, 1.6, 110);
    half.point.index = 5;
    half.point.settings.dtype = Precision::bf16;
    half.verification.window_error = 0.01;
    half.point.settings.protocol.verify = config::VerifyMode::full;
    base.quality = record::Quality{.psnr_noisy_db = 20, .psnr_denoised_db = 31, .ssim_noisy = 0, .ssim_denoised = 0};
    half.quality = record::Quality{.psnr_noisy_db = 20, .psnr_denoised_db = 30.5, .ssim_noisy = 0, .ssim_denoised = 0};
    const auto study = summarise_all({half, base});
    ASSERT_EQ(study.variants.size(), 1U);
    const auto& group = study.variants[0];
    EXPECT_EQ(group.by, VariedBy::dtype);
    EXPECT_EQ(group.base, 4);
    EXPECT_EQ(group.label, "dncnn-p256-h20-b4");
    EXPECT_DOUBLE_EQ(group.base_pipeline_s.value(), 8);
    EXPECT_DOUBLE_EQ(group.base_interval.value().high, 1.1 * 8);
    EXPECT_DOUBLE_EQ(group.base_patches_per_s.value(), 1);
    EXPECT_DOUBLE_EQ(group.base_peak_mib.value(), 220);
    const auto& point = group.points.at(0);
    EXPECT_EQ(point.variant, "bf16");
    EXPECT_DOUBLE_EQ(point.speedup.value(), 2);
    EXPECT_DOUBLE_EQ(point.forward_speedup.value(), 2);
    ASSERT_TRUE(point.range);
    EXPECT_GT(point.range->low, 2 * 0.9 / 1.1) << "narrower than the ends of both intervals";
    EXPECT_LT(point.range->low, 2);
    EXPECT_LT(point.range->high, 2 * 1.1 / 0.9);
    EXPECT_GT(point.range->high, 2);
    EXPECT_DOUBLE_EQ(point.memory_ratio.value(), 0.5);
    EXPECT_DOUBLE_EQ(point.max_difference.value(), 0.01);
    EXPECT_TRUE(point.every_window);
    EXPECT_DOUBLE_EQ(point.psnr_loss_db.value(), 0.5);
}

TEST(StudySummary, TheFastestPrecisionIsNamed) {
    std::vector<record::PointTrace> traces{sample_point(4, 8, 3.2, 220)};
    for (const auto& [dtype, pass_s] :
         {std::pair(Precision::tf32, 5.0), {Precision::bf16, 2.5}, {Precision::fp16, 4.0}}) {
        traces.push_back(sample_point(4, pass_s, 1, 220));
        traces.back().point.settings.dtype = dtype;
        traces.back().point.index = 3 + static_cast<int64_t>(traces.size());
    }
    EXPECT_EQ(summarise_all(traces).variants.at(0).fastest, 6);
}

TEST(StudySummary, SeriesOverTheWidthAreSomethingToSay) {
    StudySummary study;
    EXPECT_TRUE(study.empty());
    study.points.emplace_back();
    study.batch_panels.emplace_back();
    study.alternatives.emplace_back();
    EXPECT_TRUE(study.empty()) << "what belongs together says nothing by itself";
    study.width_series.emplace_back();
    EXPECT_FALSE(study.empty());
}

TEST(StudySummary, DevicesStandBesideTheCpu) {
    record::PointTrace cpu = sample_point(4, 8, 3.2, 220), gpu = sample_point(4, 0.1, 0.04, 220);
    gpu.point.index = 5;
    gpu.point.device = DeviceKind::cuda;
    gpu.point.settings.device = config::DeviceChoice::cuda;
    const auto group = summarise_all({cpu, gpu}).variants.at(0);
    EXPECT_EQ(group.by, VariedBy::device);
    EXPECT_EQ(group.base_variant, "cpu");
    EXPECT_NEAR(group.points.at(0).speedup.value(), 80, 1e-9);
    cpu.status = record::PointStatus::oom;
    cpu.wall_s.clear();
    EXPECT_TRUE(summarise_all({cpu, gpu}).variants.empty());
}

TEST(StudySummary, EnginesStandBesideTorch) {
    record::PointTrace torch = sample_point(4, 8, 3.2, 220), native = sample_point(4, 2, 0.8, 220);
    record::PointTrace compiled = sample_point(4, 4, 1.6, 220), clock = sample_point(4, 1, 0.4, 220);
    native.point.index = 5;
    native.point.settings.engine = EngineKind::native;
    compiled.point.index = 6;
    compiled.point.settings.engine = EngineKind::pytorch;
    compiled.point.settings.worker.options = "compile";
    clock.point.index = 7;
    clock.point.settings.engine = EngineKind::timed;
    torch.ranks[0].memory.engine_peak = 400 << 20;
    native.ranks[0].memory.engine_peak = 300 << 20;
    const auto study = summarise_all({native, compiled, clock, torch});
    ASSERT_EQ(study.variants.size(), 1U);
    const auto& group = study.variants[0];
    EXPECT_EQ(group.by, VariedBy::engine);
    EXPECT_EQ(group.label, "dncnn-p256-h20-b4-fp32") << "of what the points share";
    EXPECT_EQ(group.base_variant, "torch");
    ASSERT_EQ(group.points.size(), 2U) << "a simulated device is no engine";
    EXPECT_EQ(group.points[0].variant, "native");
    EXPECT_DOUBLE_EQ(group.points[0].speedup.value(), 4);
    EXPECT_DOUBLE_EQ(group.points[0].memory_ratio.value(), 0.75) << "of the processes, not of their allocators";
    EXPECT_FALSE(group.points[1].memory_ratio);
    EXPECT_EQ(group.points[1].variant, "pytorch compile") << "options of the process belong to the engine";
    EXPECT_EQ(group.fastest, 5);
    ASSERT_EQ(study.alternatives.size(), 1U);
    EXPECT_EQ(study.alternatives[0].by, VariedBy::engine);
    EXPECT_EQ(study.alternatives[0].all.points, (std::vector<int64_t>{5, 6, 4}));
}

}  // namespace
}  // namespace pb::measure
