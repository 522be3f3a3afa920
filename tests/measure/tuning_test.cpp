// The search of `tune` on made-up measurements: who is next, who is out and why, and which one is taken.
#include "measure/tuning.hpp"

#include "three_rank_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pb::measure {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TuningTrial trial_of(EngineKind engine, int64_t patch, double computed_pixels = 1e6, int64_t least = 256) {
    TuningTrial trial;
    trial.candidate.settings.engine = engine;
    trial.candidate.settings.patch = patch;
    trial.candidate.least_edge = least;
    trial.candidate.computed_pixels = computed_pixels;
    trial.candidate.peak_mib = 100;
    return trial;
}

TuningTrial trial_on(EngineKind engine, int64_t edge, double job_s) {
    TuningTrial trial = trial_of(engine, 128);
    trial.edge = edge;
    trial.job_s = job_s;
    return trial;
}

std::vector<std::string> drop_reasons(const TuningTrials& trials) {
    std::vector<std::string> all;
    for (const auto& trial : trials) all.push_back(trial.dropped);
    return all;
}

TEST(TuningEdges, DoubleUntilTheCropIsTheImage) {
    EXPECT_THAT(tuning_edges({4000, 3000}), ElementsAre(256, 512, 1024));
    EXPECT_THAT(tuning_edges({300, 513}), ElementsAre(256, 512, 1024)) << "the last one is the whole image";
    EXPECT_THAT(tuning_edges({300, 512}), ElementsAre(256, 512));
    EXPECT_THAT(tuning_edges({16, 256}), ElementsAre(256));
}

TEST(TuningEdges, CutACropWithinTheImage) {
    EXPECT_EQ(tuning_crop({100, 300}, 200), (Extent{100, 200}));
    EXPECT_EQ(tuning_crop({300, 100}, 200), (Extent{200, 100}));
    EXPECT_EQ(tuning_crop({300, 400}, 200), (Extent{200, 200}));
}

TEST(TuningEdges, LeaveAFullBatchToEveryRank) {
    EXPECT_EQ(least_edge(128, 1, 1, 1024), 128);
    EXPECT_EQ(least_edge(128, 4, 1, 1024), 256);
    EXPECT_EQ(least_edge(128, 4, 2, 1024), 384) << "8 patches are 3 x 3";
    EXPECT_EQ(least_edge(512, 4, 2, 1024), 1024) << "no crop is larger";
}

TEST(TuningByArithmetic, DropsWhatNeedsTooMuchMemoryOrPixels) {
    TuningTrials trials{trial_of(EngineKind::native, 128, 3e6), trial_of(EngineKind::native, 256, 2e6),
                        trial_of(EngineKind::native, 512, 1.5e6), trial_of(EngineKind::torch, 128, 3e6)};
    trials[2].candidate.peak_mib = 300;
    drop_by_arithmetic(trials, {});
    EXPECT_THAT(drop_reasons(trials), ElementsAre("2 x the arithmetic", "", "", ""))
        << "others of the same engine only";
    for (auto& trial : trials) trial.dropped.clear();
    drop_by_arithmetic(trials, {.memory_limit_mib = 200});
    EXPECT_THAT(drop_reasons(trials), ElementsAre("", "", "needs 300 MiB", ""))
        << "what does not fit excludes no other";
}

TEST(TuningByArithmetic, KeepsSmallPatchesWhereLargeOnesMayNotFit) {
    TuningTrials trials{trial_of(EngineKind::openvino, 128, 3e6), trial_of(EngineKind::openvino, 512, 1e6)};
    for (TuningTrial& trial : trials) trial.candidate.peak_mib = 0;  // unknown
    drop_by_arithmetic(trials, {.memory_limit_mib = 200});
    EXPECT_THAT(drop_reasons(trials), ElementsAre("", ""));
    drop_by_arithmetic(trials, {});
    EXPECT_THAT(drop_reasons(trials), ElementsAre("3 x the arithmetic", ""));
}

TEST(TuningByArithmetic, SaysWhatNeedsLeastWhereNothingFits) {
    TuningTrials trials{trial_of(EngineKind::torch, 256), trial_of(EngineKind::native, 128)};
    trials[1].candidate.settings.halo = {config::HaloSetting::Kind::carried, 0};
    trials[1].candidate.peak_mib = 60.2;
    EXPECT_EQ(why_nothing_fits(trials, {}), "");
    EXPECT_EQ(why_nothing_fits(trials, {.memory_limit_mib = 61}), "");
    EXPECT_EQ(why_nothing_fits(trials, {.memory_limit_mib = 60}),
              "nothing fits into 60 MiB: engine native in fp32 with patch 128 and halo carried needs least, 61 MiB");
    trials[0].candidate.peak_mib = 0;
    trials[0].dropped = "oom: takes 70 MiB";
    EXPECT_THAT(why_nothing_fits(trials, {.memory_limit_mib = 60}),
                AllOf(HasSubstr("qualifies within 60 MiB"), HasSubstr("native"), HasSubstr("predicted, 61 MiB")));
    trials[1].candidate.peak_mib = 0;
    EXPECT_EQ(why_nothing_fits(trials, {.memory_limit_mib = 60}), "") << "the least is not known";
}

TEST(TuningRounds, TakeTheFastFirstAndTheLargeLater) {
    TuningTrials trials{trial_of(EngineKind::torch, 128), trial_on(EngineKind::torch, 256, 5),
                        trial_on(EngineKind::native, 256, 2), trial_of(EngineKind::native, 512, 1e6, 512)};
    trials.push_back(trial_on(EngineKind::native, 256, 1));
    trials.back().dropped = "slower";
    EXPECT_THAT(entrants(trials, 256), ElementsAre(2, 1, 0));
    EXPECT_THAT(entrants(trials, 512), ElementsAre(2, 1, 0, 3));
}

TEST(TuningRounds, KeepTheFasterThird) {
    TuningTrials trials;
    for (int i = 0; i < 10; ++i) trials.push_back(trial_on(EngineKind::native, 256, 10 - i));
    halve(trials, 256);
    EXPECT_THAT(drop_reasons(trials),
                ElementsAre("slower", "slower", "slower", "slower", "slower", "slower", "", "", "", ""))
        << "a third of ten, rounded up";
    TuningTrials few{trial_on(EngineKind::native, 256, 3), trial_on(EngineKind::native, 256, 1),
                     trial_on(EngineKind::native, 256, 2), trial_on(EngineKind::native, 256, 0.5)};
    few.back().dropped = "wrong pixels";
    halve(few, 256);
    EXPECT_THAT(drop_reasons(few), ElementsAre("slower", "", "", "wrong pixels")) << "two at least, of those still in";
}

TEST(TuningRounds, DropWhatHadNoTurnAndWhatNothingSpeaksFor) {
    TuningTrials trials{trial_on(EngineKind::native, 256, 1),        trial_on(EngineKind::native, 256, 2),
                        trial_on(EngineKind::torch, 256, 9),         trial_of(EngineKind::native, 128),
                        trial_of(EngineKind::native, 512, 1e6, 512), trial_of(EngineKind::torch, 512, 1e6, 512)};
    halve(trials, 256);
    EXPECT_THAT(drop_reasons(trials), ElementsAre("", "", "slower", "not reached", "", "others of its kind are out"));
    halve(trials, 512);  // no time for any of them
    EXPECT_THAT(drop_reasons(trials),
                ElementsAre("", "", "slower", "not reached", "not reached", "others of its kind are out"))
        << "what was measured before stays in";
    EXPECT_EQ(find_fastest(trials), 0U);
}

TEST(TuningRounds, LetAnEngineWaitOfWhichNothingWasTried) {
    TuningTrials trials{trial_on(EngineKind::native, 256, 1), trial_of(EngineKind::openvino, 512, 1e6, 512),
                        trial_of(EngineKind::openvino, 1024, 1e6, 1024)};
    halve(trials, 256);
    EXPECT_THAT(drop_reasons(trials), ElementsAre("", "", ""));
    EXPECT_THAT(entrants(trials, 512), ElementsAre(0, 1));
    trials[1].edge = 512;
    trials[1].dropped = "oom: takes 9 GiB";
    halve(trials, 512);
    EXPECT_THAT(drop_reasons(trials), ElementsAre("", "oom: takes 9 GiB", "others of its kind are out"));
}

TEST(TuningRounds, LetAPrecisionWaitOfWhichNothingWasTried) {
    TuningTrials trials{trial_on(EngineKind::native, 256, 1), trial_on(EngineKind::native, 256, 2),
                        trial_on(EngineKind::torch, 256, 9), trial_of(EngineKind::torch, 512, 1e6, 512)};
    trials[3].candidate.settings.dtype = Precision::bf16;
    halve(trials, 256);
    EXPECT_THAT(drop_reasons(trials), ElementsAre("", "", "slower", ""));
}

TEST(TuningRounds, EndWithTheFastestOnTheLargestCrop) {
    TuningTrials trials{trial_on(EngineKind::torch, 256, 1), trial_on(EngineKind::torch, 512, 4),
                        trial_on(EngineKind::native, 512, 3), trial_on(EngineKind::native, 512, 2)};
    EXPECT_EQ(find_fastest(trials), 3U);
    trials[3].dropped = "visible seams (0.01)";
    EXPECT_EQ(find_fastest(trials), 2U);
    EXPECT_EQ(find_fastest({trial_of(EngineKind::torch, 128)}), std::nullopt);
    EXPECT_EQ(find_fastest({}), std::nullopt);
}

/// 2 Mpx processed in 2.3 s, at 31.25 dB.
record::PointTrace verified_trace() { return three_rank_trace(); }

TEST(TuningResults, ArePredictedForTheWholeImage) {
    TuningTrial trial = trial_of(EngineKind::native, 256, 6e6);
    take_result(trial, 512, verified_trace(), 31.27, {});
    EXPECT_EQ(trial.dropped, "");
    EXPECT_EQ(trial.edge, 512);
    EXPECT_DOUBLE_EQ(trial.job_s.value(), 3 * summarise(verified_trace()).pipeline_s.value());
    EXPECT_NEAR(trial.psnr_loss_db.value(), 0.02, 1e-9);
    EXPECT_EQ(trial.peak_mib, 300);
}

TEST(TuningResults, CountOnlyWithVerifiedPixelsOfEnoughQuality) {
    const auto reason = [](const record::PointTrace& trace, double reference_db = 31.25) {
        TuningTrial trial = trial_of(EngineKind::native, 256);
        take_result(trial, 256, trace, reference_db, {});
        return trial.dropped;
    };
    EXPECT_EQ(reason(verified_trace(), 31.29), "");
    EXPECT_EQ(reason(verified_trace(), 31.33), "loses 0.080 dB, more than 0.05");
    EXPECT_EQ(reason(verified_trace(), 31.0), "") << "better than the reference";
    record::PointTrace trace = verified_trace();
    trace.verification.outcome = record::Verification::Outcome::off;
    EXPECT_EQ(reason(trace), "its pixels were not verified");
    trace.verification = {.outcome = record::Verification::Outcome::failed, .reasons = {"window 3 differs"}};
    EXPECT_EQ(reason(trace), "wrong pixels: window 3 differs");
    trace = verified_trace();
    trace.point.halo = 8;
    trace.verification.seam_error = 0.1;
    EXPECT_EQ(reason(trace), "visible seams (0.1)");
    trace.num_patches = 1;
    EXPECT_EQ(reason(trace), "") << "one patch has none: the difference is that of the arithmetic";
    trace = verified_trace();
    trace.quality.reset();
    EXPECT_EQ(reason(trace), "its PSNR is unknown");
    TuningTrial again = trial_of(EngineKind::native, 256);
    take_result(again, 256, verified_trace(), 31.25, {});
    take_result(again, 512, trace, 31.25, {});
    EXPECT_EQ(again.dropped, "its PSNR is unknown") << "that of the smaller crop says nothing";
    TuningTrial large = trial_of(EngineKind::openvino, 256);
    take_result(large, 256, verified_trace(), 31.25, {.memory_limit_mib = 299});
    EXPECT_EQ(large.dropped, "took 300 MiB");
    EXPECT_THAT(reason(unmeasured_trace(record::PointStatus::oom, "takes 9 GiB")), HasSubstr("oom: takes 9 GiB"));
}

TEST(TuningTimes, PredictByTheLastOfTheKindElseTheSlowest) {
    TuningTimes times;
    EXPECT_EQ(times.predict("native", 100), 0);
    times.add("native", 100, 4);
    times.add("torch", 100, 8);
    times.add("native", 400, 8);
    EXPECT_DOUBLE_EQ(times.predict("native", 1000), 20);
    EXPECT_DOUBLE_EQ(times.predict("openvino", 1000), 80);
}

}  // namespace
}  // namespace pb::measure
