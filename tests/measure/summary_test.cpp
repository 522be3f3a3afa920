#include "measure/summary.hpp"

#include "three_rank_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace pb::measure {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Returns the times and rates. A point without a right result must not have them.
std::vector<std::optional<double>> speeds(const Summary& s) {
    std::vector<std::optional<double>> all{
        s.pipeline_s,     s.pipeline_low_s, s.pipeline_high_s, s.pipeline_mean_s,       s.pipeline_sd_s,
        s.pipeline_min_s, s.patches_per_s,  s.images_per_s,    s.useful_mpx_per_s,      s.processed_mpx_per_s,
        s.tflops,         s.forward_s,      s.efficiency,      s.forward_patches_per_s, s.job_s,
        s.imbalance,      s.cpu_percent};
    all.insert(all.end(), s.stage_s.begin(), s.stage_s.end());
    for (const auto& rank : s.ranks) all.insert(all.end(), {rank.wall_s, rank.patches_per_s});
    return all;
}

TEST(Summary, RatesAreWorkOverTheMedianOfTheSlowestRankOfEachRepetition) {
    const record::PointTrace trace = three_rank_trace();
    const Summary summary = summarise(trace);
    // Maxima: 2.3 2.1 2.2 2.0 2.4 2.7. The medians of the ranks are 1.45, 1.4 and 1.35, all far below.
    const double pipeline_s = 2.25;
    EXPECT_DOUBLE_EQ(summary.pipeline_s.value(), pipeline_s);
    EXPECT_DOUBLE_EQ(summary.patches_per_s.value(), 20 / pipeline_s);
    EXPECT_DOUBLE_EQ(summary.useful_mpx_per_s.value(), 1.25 / pipeline_s);
    EXPECT_DOUBLE_EQ(summary.processed_mpx_per_s.value(), 2 / pipeline_s);
    EXPECT_DOUBLE_EQ(summary.images_per_s.value(), 1 / pipeline_s);
    EXPECT_DOUBLE_EQ(
        summary.tflops.value(),
        2.0 * network::network_facts(network::kind_of<network::DncnnShape>()).mac_per_pixel * 2e6 / pipeline_s / 1e12);
    double sum_of_rates = 0;
    for (const auto& rank : summary.ranks) sum_of_rates += rank.patches_per_s.value();
    EXPECT_LT(summary.patches_per_s.value(), sum_of_rates);
    EXPECT_DOUBLE_EQ(summary.job_s.value(), 0.25 + 0.5 + pipeline_s);
    EXPECT_DOUBLE_EQ(summary.pipeline_mean_s.value(), 13.7 / 6);
}

TEST(Summary, SlowingTheSlowestRankDownLowersTheRate) {
    record::PointTrace trace = three_rank_trace();
    const double before = summarise(trace).patches_per_s.value();
    for (auto& wall_s : trace.wall_s) wall_s *= 2;
    EXPECT_DOUBLE_EQ(summarise(trace).patches_per_s.value(), before / 2);
}

TEST(Summary, ForwardScopeIsTheRankWithTheMostWork) {
    const Summary summary = summarise(three_rank_trace());
    EXPECT_DOUBLE_EQ(summary.forward_s.value(), 2 * 0.5);  // rank 0: 2 * 0.4, rank 2: 1 * 0.6
    EXPECT_DOUBLE_EQ(summary.efficiency.value(), 1 / 2.25);
    EXPECT_DOUBLE_EQ(summary.forward_patches_per_s.value(), 20);
}

TEST(Summary, CroppedWindowsCountByWhatIsComputed) {
    record::PointTrace trace = three_rank_trace();
    const Summary whole = summarise(trace);
    trace.computed_pixels = trace.processed_pixels / 2;
    for (auto& rank : trace.ranks) rank.work_per_call = rank.rank == 0 ? 1.5 : 0.75;
    const Summary cropped = summarise(trace);
    EXPECT_DOUBLE_EQ(cropped.tflops.value(), whole.tflops.value() / 2);
    EXPECT_DOUBLE_EQ(cropped.processed_mpx_per_s.value(), whole.processed_mpx_per_s.value());
    EXPECT_DOUBLE_EQ(cropped.forward_s.value(), 2 * 0.4 * 1.5) << "rank 0 has become the slowest";
}

TEST(Summary, ForwardScopeIsAbsentWhenOneRankDidNotMeasureIt) {
    record::PointTrace trace = three_rank_trace();
    trace.ranks[0].forward_call_s.clear();
    const Summary summary = summarise(trace);
    EXPECT_FALSE(summary.forward_s || summary.efficiency || summary.forward_patches_per_s);
    trace.ranks[0].num_batches = 0;  // a rank without work
    EXPECT_TRUE(summarise(trace).forward_s);
}

TEST(Summary, StagesAreMaximaOverRanksAndAbsentWhenTheyDidNotHappen) {
    const Summary summary = summarise(three_rank_trace());
    const auto stage = [&](record::Stage s) { return summary.stage_s[static_cast<size_t>(s)]; };
    EXPECT_DOUBLE_EQ(stage(record::Stage::gather).value(), 0.03) << "the median: the mean is 0.0325";
    EXPECT_DOUBLE_EQ(stage(record::Stage::forward).value(), 1.0);
    EXPECT_DOUBLE_EQ(stage(record::Stage::read).value(), 0.25);
    EXPECT_FALSE(stage(record::Stage::h2d));
    EXPECT_FALSE(stage(record::Stage::write));
}

TEST(Summary, AStageMayTakeNoTimeInARepetition) {
    record::PointTrace trace = three_rank_trace();
    for (auto& rank : trace.ranks) rank.stage_s[0][record::Stage::gather] = 0;
    EXPECT_DOUBLE_EQ(summarise(trace).stage_s[record::Stage::gather].value(), 0.03);
}

TEST(Summary, TheStartOfAPointIsKept) {
    record::PointTrace trace = three_rank_trace();
    EXPECT_FALSE(summarise(trace).load_s || summarise(trace).prepare_s || summarise(trace).first_pass_s);
    trace.load_s = 3;
    trace.prepare_s = 4;
    trace.first_pass_s = 5;
    const Summary summary = summarise(trace);
    EXPECT_EQ(summary.load_s, 3);
    EXPECT_EQ(summary.prepare_s, 4);
    EXPECT_EQ(summary.first_pass_s, 5);
}

TEST(Summary, StageMaximumIsTakenInEachRepetition) {
    record::PointTrace trace = three_rank_trace();
    const auto gather = static_cast<size_t>(record::Stage::gather);
    for (auto& rank : trace.ranks)
        for (size_t i = 0; i < kTraceRepetitions; ++i)
            rank.stage_s[i][gather] = i % 3 == static_cast<size_t>(rank.rank) ? 1.0 : 0.1;
    EXPECT_DOUBLE_EQ(summarise(trace).stage_s[gather].value(), 1.0);  // the median of each rank is 0.1
}

TEST(Summary, IntervalNeedsSixRepetitions) {
    for (size_t n = 1; n <= 12; ++n) {
        record::PointTrace trace = three_rank_trace();
        trace.wall_s.assign(n, 2.0);
        for (auto& rank : trace.ranks) {
            rank.wall_s.assign(n, 1.0);
            rank.stage_s.assign(n, record::StageSeconds{});
        }
        const Summary summary = summarise(trace);
        EXPECT_EQ(summary.repetitions, static_cast<int64_t>(n));
        EXPECT_EQ(summary.pipeline_low_s.has_value(), n >= 6) << n;
        EXPECT_EQ(summary.pipeline_high_s.has_value(), n >= 6) << n;
        EXPECT_EQ(summary.pipeline_sd_s.has_value(), n >= 2) << n;
        EXPECT_EQ(summary.pipeline_p90_s.has_value(), n >= 10) << n;
        EXPECT_FALSE(summary.pipeline_p95_s);
        EXPECT_EQ(!summary.notes.empty(), n < 6) << n;
        EXPECT_EQ(summary.validity, Validity::valid);
    }
}

TEST(Summary, MemoryIsTheMaximumOverRanksAndNamesTheRank) {
    const Summary summary = summarise(three_rank_trace());
    EXPECT_DOUBLE_EQ(summary.allocated_peak_mib.value(), 300);
    EXPECT_EQ(summary.allocated_peak_rank, 1);
    EXPECT_DOUBLE_EQ(summary.host_peak_mib.value(), 1002);
    EXPECT_FALSE(summary.device_used_mib) << "0 bytes on the CPU: not measured, never 0";
    EXPECT_DOUBLE_EQ(summary.predicted_peak_mib.value(), 290);
}

TEST(Summary, ImbalanceCountsIdleRanks) {
    record::PointTrace trace = three_rank_trace();
    trace.ranks[0].wall_s.assign(kTraceRepetitions, 3.0);
    trace.ranks[1].wall_s.assign(kTraceRepetitions, 3.0);
    trace.ranks[2].wall_s.assign(kTraceRepetitions, 0.0);
    trace.ranks[2].num_patches = 0;
    const Summary summary = summarise(trace);
    EXPECT_DOUBLE_EQ(summary.imbalance.value(), 1.5);
    EXPECT_EQ(summary.slowest_rank, 0);
    EXPECT_FALSE(summary.ranks[2].patches_per_s);
    trace.ranks[0].num_patches = 1;
    EXPECT_DOUBLE_EQ(summarise(trace).ranks[0].patches_per_s.value(), 1 / 3.0);
}

TEST(Summary, ContextSaysHowRanksArePlacedAndShareTheWork) {
    record::PointTrace trace = three_rank_trace();
    EXPECT_THAT(summarise(trace).context, Contains(testing::Pair("ranks", "3")));
    EXPECT_THAT(summarise(trace).context, Contains(testing::Pair("image", "retina, \"left\".png 1000 x 1250 x 3")));
    EXPECT_THAT(summarise(trace).context, Contains(testing::Pair("noise", "sigma 0.1")));
    trace.point.settings.image.noise_sigma = 0;
    EXPECT_THAT(summarise(trace).context, Contains(testing::Pair("noise", "none added")));
    trace.point.settings.placement = config::Placement::scatter;
    trace.point.settings.schedule = config::Schedule::dynamic;
    EXPECT_THAT(summarise(trace).context, Contains(testing::Pair("ranks", "3, scatter, dynamic")));
}

TEST(Summary, CpuPercentIsCpuTimeOverWallTime) {
    record::PointTrace trace = three_rank_trace();  // walls of ranks are 9.5, 9.5 and 9.7 s, of the point 13.7
    EXPECT_NEAR(summarise(trace).cpu_percent.value(), 100 * (0.8 * 9.5 + 0.9 * 9.5 + 0.95 * 9.7) / 3 / 13.7, 1e-9);
    trace.ranks[2].wall_s.assign(kTraceRepetitions, 1e-6);  // no windows: it waits, and spins
    EXPECT_LT(summarise(trace).cpu_percent.value(), 100);
}

TEST(Summary, APatchCostsWhatAllRanksSpendOnItInOnePass) {
    // Wall times are 9.5, 9.5 and 9.7 s. The ranks are busy for 0.8, 0.9 and 0.95 of them, in 6 passes over 20 patches.
    const double busy_s = 0.8 * 9.5 + 0.9 * 9.5 + 0.95 * 9.7;
    EXPECT_NEAR(summarise(three_rank_trace()).cpu_per_patch_s.value(), busy_s / (6 * 20), 1e-12);
}

TEST(Summary, AJobEndsWithItsFileWritten) {
    record::PointTrace trace = three_rank_trace();
    trace.write_s = 0.125;
    const Summary summary = summarise(trace);
    EXPECT_DOUBLE_EQ(summary.stage_s[static_cast<size_t>(record::Stage::write)].value(), 0.125);
    EXPECT_DOUBLE_EQ(summary.job_s.value(), 0.25 + 0.5 + 2.25 + 0.125);
}

TEST(Summary, TraceWithoutASampleForEachRepetitionIsRefused) {
    record::PointTrace trace = three_rank_trace();
    trace.ranks[1].wall_s.pop_back();
    EXPECT_THROW((void)summarise(trace), Error);
}

TEST(Summary, AWrongRunHasNoSpeed) {
    record::PointTrace trace = three_rank_trace();
    trace.verification.outcome = record::Verification::Outcome::failed;
    trace.verification.reasons = {"3 pixels were not written"};
    const Summary summary = summarise(trace);
    EXPECT_EQ(summary.validity, Validity::failed);
    EXPECT_THAT(summary.reasons,
                Contains(AllOf(HasSubstr("3 pixels "), HasSubstr("not use it, run `patchbench check`"))));
    trace.point.settings.network.file = "f.onnx";
    trace.point.settings.network.card = network::NetworkCard{.channels = 3};
    EXPECT_THAT(summarise(trace).reasons, Contains(HasSubstr("correct the card of f.onnx")));
    for (const auto& speed : speeds(summary)) EXPECT_FALSE(speed);
    EXPECT_TRUE(summary.allocated_peak_mib);
    EXPECT_TRUE(summary.window_error);
    EXPECT_EQ(summary.fp64_error, 7.5e-7);
}

TEST(Summary, AnOutputFarFromItsInputIsNoted) {
    record::PointTrace trace = three_rank_trace();  // of a level of 0.1, of which half adds to what is allowed
    const auto is_noted = [&](double shift, const std::string& words) {
        trace.verification.mean_shift = shift;
        return testing::Matches(Contains(HasSubstr(words)))(summarise(trace).notes);
    };
    EXPECT_FALSE(is_noted(0.14, "of the range"));
    EXPECT_TRUE(is_noted(0.3, "is 0.3 of the range brighter"));
    EXPECT_TRUE(is_noted(-0.3, "is 0.3 of the range darker"));
    for (const auto& [change, is_too_much] : {std::pair(0.29, false), {0.31, true}}) {
        trace.verification.rms_change = change;
        EXPECT_EQ(is_noted(0.05, "differs from the input by 0.31 of the range"), is_too_much) << change;
        EXPECT_TRUE(is_noted(0.3, "is 0.3 of the range brighter")) << "one of them is enough";
    }
    trace.point.settings.weights = "seed:3";
    EXPECT_FALSE(is_noted(0.3, "of the range")) << "untrained";
}

TEST(Summary, PointsThatDidNotEndWellHaveNoSpeedAndSayWhy) {
    for (const auto& [status, name] : enum_table<record::PointStatus>()) {
        if (status == record::PointStatus::ok) continue;
        record::PointTrace trace = three_rank_trace();
        trace.status = status;
        trace.reason = "rank 1: because";
        trace.ranks[1].wall_s.pop_back();  // ranks have different numbers of samples
        const Summary summary = summarise(trace);
        EXPECT_EQ(summary.validity, status == record::PointStatus::failed ? Validity::failed : Validity::invalid)
            << name;
        EXPECT_THAT(summary.reasons, Contains(HasSubstr("because"))) << name;
        for (const auto& speed : speeds(summary)) EXPECT_FALSE(speed) << name;
    }
}

TEST(Summary, ReasonsAgainstAComparison) {
    record::PointTrace trace = three_rank_trace();
    EXPECT_THAT(summarise(trace).reasons, IsEmpty());
    trace.shared_device = true;
    EXPECT_EQ(summarise(trace).validity, Validity::invalid);
    trace.shared_device = false;
    trace.verification.outcome = record::Verification::Outcome::off;
    const Summary summary = summarise(trace);
    EXPECT_EQ(summary.validity, Validity::invalid);
    EXPECT_THAT(summary.reasons, Contains(HasSubstr("verify.mode")));
    EXPECT_TRUE(summary.pipeline_s) << "measured all the same";
}

TEST(Summary, UntrainedWeightsAreNoReason) {
    record::PointTrace trace = three_rank_trace();
    trace.weights_source = "seed:1";
    EXPECT_EQ(summarise(trace).validity, Validity::valid);
}

TEST(Summary, AllocationsInsideRepetitionsAreNoted) {
    record::PointTrace trace = three_rank_trace();
    EXPECT_THAT(summarise(trace).notes, Not(Contains(HasSubstr("allocated memory"))));
    trace.ranks[0].allocations = 3;
    trace.ranks[2].allocations = 4;
    EXPECT_THAT(summarise(trace).notes, Contains(HasSubstr("allocated memory 7 times")));
}

/// Makes a trace with one repetition for each time, the same on all ranks.
record::PointTrace trace_of(const std::vector<double>& wall_s) {
    record::PointTrace trace = three_rank_trace();
    trace.wall_s = wall_s;
    for (auto& rank : trace.ranks) {
        rank.wall_s = wall_s;
        rank.stage_s.assign(wall_s.size(), record::StageSeconds{});
    }
    return trace;
}

TEST(Summary, ARepetitionIsNotShorterThanItsRanks) {
    record::PointTrace trace = three_rank_trace();
    EXPECT_THAT(summarise(trace).reasons, Not(Contains(HasSubstr("a rank took longer than the repetition"))));
    trace.wall_s[2] *= 0.99;  // as if the reduction left the slowest rank out
    const Summary summary = summarise(trace);
    EXPECT_THAT(summary.reasons, Contains(HasSubstr("a rank took longer than the repetition")));
    EXPECT_EQ(summary.validity, Validity::invalid);
}

TEST(Summary, RanksWithoutProcessorsAreNoMeasurement) {
    record::PointTrace trace = three_rank_trace();
    trace.point.device = DeviceKind::cpu;
    for (auto& rank : trace.ranks) {
        rank.host = "node1";
        rank.telemetry = {};
        rank.telemetry[Meter::own_cpu_s] = 0.5;
    }
    TelemetryRecord& host = trace.ranks[1].telemetry;
    host[Meter::observed_s] = host[Meter::cpu_pressure_s] = 10;
    host[Meter::host_cpu_s] = 1.5 + 29.9;
    EXPECT_EQ(summarise(trace).validity, Validity::valid);
    host[Meter::host_cpu_s] = 1.5 + 30;
    EXPECT_EQ(summarise(trace).validity, Validity::invalid);
    EXPECT_THAT(summarise(trace).reasons, Contains(HasSubstr("twenty times the CPU time of the ranks")));
    EXPECT_THAT(summarise(trace).notes,
                Contains(HasSubstr("not measured alone: node1: other processes used 3.0 cores")));
    trace.point.device = DeviceKind::cuda;
    EXPECT_EQ(summarise(trace).validity, Validity::valid);
    trace.point.device = DeviceKind::cpu;
    record::PointTrace job = trace_of({1.0});
    job.point.device = DeviceKind::cpu;
    for (size_t i = 0; i < job.ranks.size(); ++i) {
        job.ranks[i].host = "node1";
        job.ranks[i].telemetry = trace.ranks[i].telemetry;
    }
    EXPECT_GE(record::crowding_of(job), 20);
    EXPECT_EQ(summarise(job).validity, Validity::valid) << "of denoise";
    trace.point.settings.engine = EngineKind::timed;
    EXPECT_EQ(summarise(trace).validity, Validity::valid);
}

/// On CPUs, the same in each repetition of each rank.
record::PointTrace trace_on_cores(const std::vector<double>& wall_s, double forward_s, double cpu_s) {
    record::PointTrace trace = trace_of(wall_s);
    trace.point.device = DeviceKind::cpu;
    for (auto& rank : trace.ranks) {
        for (record::StageSeconds& stages : rank.stage_s) stages[record::Stage::forward] = forward_s;
        rank.cpu_s.assign(wall_s.size(), cpu_s);
        rank.telemetry = {};
    }
    return trace;
}

/// mutant: the rank with most, or the sum of all ranks.
TEST(Summary, RanksWithPartOfACoreAreNoMeasurement) {
    record::PointTrace trace = trace_on_cores({1.0, 1.0, 1.0}, 0.8, 1.0);
    const auto said = [&] { return testing::Contains(HasSubstr("cores were short: a rank had one for")); };
    EXPECT_EQ(summarise(trace).validity, Validity::valid);
    EXPECT_THAT(summarise(trace).notes, testing::Not(said()));
    trace.ranks[1].cpu_s = {0.6, 0.6, 0.8};
    EXPECT_DOUBLE_EQ(record::core_share_of(trace).value(), 0.6 / 0.8);
    EXPECT_EQ(summarise(trace).validity, Validity::valid);
    EXPECT_THAT(summarise(trace).notes, Contains(HasSubstr("a rank had one for 75 % of")));
    trace.ranks[1].cpu_s = {0.4776, 0.4776, 0.8};
    EXPECT_EQ(summarise(trace).validity, Validity::invalid);
    EXPECT_THAT(summarise(trace).notes, Contains(HasSubstr("a rank had one for 59 % of"))) << "59.7 %; 60 % is enough";
    trace.ranks[1].cpu_s = {0.4, 0.4, 0.5};
    EXPECT_EQ(summarise(trace).validity, Validity::invalid);
    EXPECT_THAT(summarise(trace).reasons, Contains(HasSubstr("less than 60 % of the time of its forward calls")));
    for (const auto& meddle : std::initializer_list<std::function<void(record::PointTrace&)>>{
             [](auto& other) { other.point.device = DeviceKind::cuda; },
             [](auto& other) { other.point.settings.engine = EngineKind::timed; },
             [](auto& other) { other.point.settings.engine = EngineKind::python; },
             [](auto& other) {
                 other.ranks[1].cpu_s = {0, 0, 0};
             },
             [](auto& other) {
                 for (auto& stages : other.ranks[1].stage_s) stages[record::Stage::forward] = 0.3;
                 other.ranks[1].cpu_s = {0.1, 0.1, 0.1};
             }}) {
        record::PointTrace other = trace;
        meddle(other);
        EXPECT_EQ(summarise(other).validity, Validity::valid);
    }
    trace.point.settings.halo.kind = config::HaloSetting::Kind::exchanged;  // waiting for rows is another stage
    EXPECT_EQ(summarise(trace).validity, Validity::invalid);
    record::PointTrace stopped = trace_on_cores({1.0, 1.0, 1.0, 1.0, 1.0, 9.0}, 1.0, 1.0);  // once, for 8 s
    stopped.ranks[1].stage_s.back()[record::Stage::forward] = 9;
    EXPECT_EQ(record::core_share_of(stopped), 1);
    stopped.ranks[1].cpu_s[0] = stopped.ranks[1].cpu_s[1] = stopped.ranks[1].cpu_s[2] = 0.1;
    EXPECT_LT(record::core_share_of(stopped).value(), 0.6);
    record::PointTrace alternating = trace_on_cores({2.0, 2.0, 2.0, 2.0}, 2.0, 3.0);  // who waits spins
    for (const size_t i : {0, 1, 2, 3}) alternating.ranks[i % 2].cpu_s[i] = 1.0;
    EXPECT_DOUBLE_EQ(record::core_share_of(alternating).value(), 0.5);
    const record::PointTrace job = trace_on_cores({3.0}, 2, 0.5);
    EXPECT_DOUBLE_EQ(record::core_share_of(job).value(), 0.25);
    EXPECT_EQ(summarise(job).validity, Validity::valid) << "of denoise";
    EXPECT_EQ(summarise(trace_on_cores({1.5, 1.5}, 1, 0.25)).validity, Validity::invalid) << "two are a measurement";
}

TEST(Summary, RepetitionsThatAgreeOnNothingAreNoFigure) {
    const std::vector<double> apart{1.0, 9.0, 1.0, 9.0, 1.0, 9.0, 1.0, 9.0};
    EXPECT_EQ(summarise(trace_of(apart)).validity, Validity::invalid);
    EXPECT_THAT(summarise(trace_of(apart)).reasons, Contains(HasSubstr("three times the lower one")));
    EXPECT_EQ(summarise(trace_of({1.0, 2.9, 1.0, 2.9, 1.0, 2.9, 1.0, 2.9})).validity, Validity::valid);
    EXPECT_EQ(summarise(trace_of({1.0, 9.0, 1.0, 9.0})).validity, Validity::valid) << "no interval";
    EXPECT_EQ(summarise(trace_of({1.0, 1.0, 1.0, 9.0, 1.0, 1.0})).validity, Validity::valid) << "one changes no median";
    EXPECT_EQ(summarise(trace_of({2.0, 2.0, 2.0, 18.0, 2.0, 2.0})).validity, Validity::valid) << "whatever the times";
    std::vector<double> brief = apart;
    for (double& time : brief) time /= 50;
    EXPECT_EQ(summarise(trace_of(brief)).validity, Validity::valid) << "0.8 s in all";
}

TEST(Summary, ADriftIsNoFigureAndSaysWhatToDo) {
    const std::vector<double> rising{1.0, 1.02, 1.04, 1.06, 1.08, 1.10, 1.12, 1.14, 1.16};
    const Summary drifting = summarise(trace_of(rising));
    EXPECT_EQ(drifting.validity, Validity::invalid);
    EXPECT_THAT(drifting.reasons, Contains(HasSubstr("warmup.time_s")));
    EXPECT_NEAR(drifting.drift.value(), 1.14 / 1.02 - 1, 1e-12);
    EXPECT_TRUE(drifting.pipeline_s) << "measured all the same";
    record::PointTrace shallow = trace_of(rising);  // as steady a rise, a quarter as steep
    for (double& time : shallow.wall_s) time = 1 + (time - 1) / 4;
    for (auto& rank : shallow.ranks) rank.wall_s = shallow.wall_s;
    EXPECT_EQ(summarise(shallow).validity, Validity::valid) << "within stop.rel_width";
    shallow.point.settings.protocol.rel_width = 0.01;
    EXPECT_EQ(summarise(shallow).validity, Validity::invalid);
    EXPECT_EQ(summarise(trace_of({1.0, 1.1, 1.2, 1.3, 1.4})).validity, Validity::valid) << "too few to tell";
}

TEST(Summary, OutliersAreCountedMarkedAndKept) {
    const Summary summary = summarise(trace_of({1.0, 1.01, 5.0, 0.99, 1.0, 1.02, 0.98}));
    EXPECT_DOUBLE_EQ(summary.outliers.value(), 1);
    EXPECT_THAT(summary.outlier_reps, testing::ElementsAre(2U));
    EXPECT_THAT(summary.notes, Contains(HasSubstr("1 of 7 repetitions")));
    EXPECT_GT(summary.pipeline_mean_s.value(), 1.5) << "kept";
    EXPECT_FALSE(summarise(trace_of({1.0, 9.0, 1.0})).outliers);
    EXPECT_EQ(summarise(three_rank_trace()).outliers, 0) << "of six passes, which have a drift, too";
    EXPECT_NEAR(summarise(three_rank_trace()).drift.value(), 2.55 / 2.2 - 1, 1e-12);
}

TEST(Summary, AnImbalanceThatTheSplitDoesNotExplainNamesRankAndHost) {
    record::PointTrace trace = three_rank_trace();
    EXPECT_THAT(summarise(trace).notes, Not(Contains(HasSubstr("slowest"))));
    trace.ranks[2].wall_s.assign(kTraceRepetitions, 3.0);
    EXPECT_THAT(summarise(trace).notes, Contains("rank 2@node1 is the slowest: 1.54 x the mean of the ranks, of which "
                                                 "the distribution of the windows explains 1.20"));
    trace.ranks[2].num_batches = 4;  // now it has twice the mean
    EXPECT_THAT(summarise(trace).notes, Not(Contains(HasSubstr("slowest"))));
}

TEST(Summary, ACleanImageWithoutPsnrIsNotedButForAChecksum) {
    record::PointTrace trace = three_rank_trace();
    trace.point.settings.image.clean = "clean.png";
    trace.quality.reset();
    EXPECT_THAT(summarise(trace).notes, Contains(HasSubstr("no PSNR")));
    trace.point.settings.output = config::OutputKind::checksum;
    EXPECT_THAT(summarise(trace).notes, Not(Contains(HasSubstr("no PSNR"))));
}

TEST(Summary, WhatEndedTheRepetitionsIsNoted) {
    record::PointTrace trace = three_rank_trace();
    for (const auto& [reason, name] : enum_table<StopReason>()) {
        if (reason == StopReason::none) continue;
        trace.stop_reason = reason;
        const Summary summary = summarise(trace);
        EXPECT_EQ(summary.stop_reason, reason);
        EXPECT_THAT(summary.notes, Contains(HasSubstr("repeated until"))) << name;
    }
    trace.stop_reason = StopReason::max_time;
    trace.point.settings.protocol.max_time_s = 0;
    EXPECT_THAT(summarise(trace).notes, Contains(HasSubstr("stop.min_reps times")));
}

TEST(Summary, ACallIsThatOfTheRankWhoseMedianIsTheLargest) {
    record::PointTrace trace = three_rank_trace();
    trace.ranks[0].forward_call_s = {0.1, 9, 0.2};
    const Summary summary = summarise(trace);
    EXPECT_DOUBLE_EQ(summary.call_s.value(), 0.6) << "rank 2";
    EXPECT_DOUBLE_EQ(summary.call_mean_s.value(), 0.9);
    EXPECT_FALSE(summary.call_low_s || summary.call_p90_s || summary.call_mean_low_s) << "three calls say too little";
    for (auto& rank : trace.ranks) rank.forward_call_s.clear();
    EXPECT_FALSE(summarise(trace).call_s);
}

TEST(Summary, AHundredCallsHaveTheirPercentiles) {
    record::PointTrace trace = three_rank_trace();
    trace.ranks[2].forward_call_s.resize(100);
    for (size_t i = 0; i < 100; ++i) trace.ranks[2].forward_call_s[i] = static_cast<double>(i + 1);
    const Summary summary = summarise(trace);
    EXPECT_NEAR(summary.call_p90_s.value(), 90, 0.5);
    EXPECT_NEAR(summary.call_p99_s.value(), 99, 0.5);
}

TEST(Summary, TheMeanHasAnIntervalFromThirtyCallsOn) {
    record::PointTrace trace = three_rank_trace();
    trace.ranks[2].forward_call_s.assign(29, 4);
    EXPECT_FALSE(summarise(trace).call_mean_low_s);
    trace.ranks[2].forward_call_s.push_back(7.6);
    EXPECT_TRUE(summarise(trace).call_mean_low_s);
    for (int i = 0; i < 6; ++i) trace.ranks[2].forward_call_s.push_back(7.6);
    const Summary summary = summarise(trace);
    EXPECT_NEAR(summary.call_mean_s.value(), 4.7, 1e-12);
    // Deviations: 29 of -0.7 and 7 of 2.9; squares sum to 73.08, so sd = sqrt(73.08 / 35) and the half is 1.96 sd / 6.
    EXPECT_NEAR(summary.call_mean_high_s.value() - summary.call_mean_s.value(), 0.4720305, 1e-6);
    EXPECT_NEAR(summary.call_mean_s.value() - summary.call_mean_low_s.value(), 0.4720305, 1e-6);
}

}  // namespace
}  // namespace pb::measure
