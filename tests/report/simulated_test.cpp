// Tests that results of simulated devices are never taken for measurements, the tables T(b) made from results, and the
// time that a plan takes by earlier results.
#include "measure/scaling_traces.hpp"
#include "measure/verdict.hpp"
#include "report/expected_time.hpp"
#include "report/results_comparison.hpp"
#include "report/results_figures.hpp"
#include "report/tables/tables.hpp"
#include "support/messages.hpp"

#include <gmock/gmock.h>

#include <tuple>

namespace pb::report {
namespace {

using testing::HasSubstr;

record::PointTrace simulated(record::PointTrace trace) {
    trace.point.settings.engine = EngineKind::timed;
    return trace;
}

ResultsFile file_of(const std::vector<record::PointTrace>& traces) {
    ResultsFile file;
    file.file = "old/results.jsonl";
    file.sessions.emplace_back();
    for (const auto& trace : traces) {
        RecordedPoint& point = file.points.emplace_back();
        point.trace = trace;
        point.summary = measure::summarise(trace);
    }
    return file;
}

/// Makes a point with a call of `call_s` seconds on `batch` windows.
record::PointTrace called(int64_t batch, double call_s) {
    record::PointTrace trace = ranks_trace(2, 5);
    trace.point.batch = batch;
    for (auto& rank : trace.ranks) rank.forward_call_s = {call_s / (rank.rank + 1), call_s / (rank.rank + 1)};
    return trace;
}

config::PointSettings wanted() {
    config::PointSettings settings = ranks_trace(1, 1).point.settings;
    settings.engine = EngineKind::timed;
    settings.halo = {config::HaloSetting::Kind::pixels, 0};
    return settings;
}

TEST(Simulated, IsSaidInTableAndVerdict) {
    const std::vector<measure::Summary> summaries{measure::summarise(simulated(ranks_trace(1, 10))),
                                                  measure::summarise(ranks_trace(2, 5))};
    EXPECT_TRUE(summaries[0].simulated);
    EXPECT_FALSE(summaries[0].tflops) << "nothing was computed";
    EXPECT_THAT(points_table(summaries), HasSubstr("simulated\n"));
    const std::string line = verdict_line(measure::judge(summaries, false));
    EXPECT_THAT(line, HasSubstr("RESULT: VALID  1 of 2 points SIMULATED"));
}

TEST(Simulated, DoesNotCompareWithMeasured) {
    const ResultsFile old_file = file_of({simulated(ranks_trace(1, 10))}), new_file = file_of({ranks_trace(1, 10)});
    EXPECT_THAT(usage_error([&] { (void)compare_results({old_file}, {new_file}); }),
                testing::AllOf(HasSubstr("OLD "), HasSubstr("engine timed"), HasSubstr("NEW ")));
    EXPECT_EQ(compare_results({old_file}, {old_file}).count(measure::Change::same), 1);
    const ResultsFile both = file_of({ranks_trace(1, 10), simulated(ranks_trace(1, 10))});
    const auto comparison = compare_results({both}, {new_file});
    EXPECT_EQ(comparison.count(measure::Change::same), 1) << "the measured point, with the measured one";
    EXPECT_EQ(comparison.points.size(), 2U);
}

TEST(MeasuredCalls, AreTheSlowestRanksMedianByBatch) {
    const auto table = measured_call_table(file_of({called(4, 0.5), called(1, 0.25), called(4, 9)}), wanted());
    EXPECT_EQ(table, "1:0.25,4:0.5") << "the first point that has a batch";
    record::PointTrace cropped = called(4, 0.5);
    for (auto& rank : cropped.ranks) rank.work_per_call = 0.5;
    EXPECT_EQ(measured_call_table(file_of({cropped}), wanted()), "4:0.25") << "the mean call of the pass";
}

TEST(MeasuredCalls, AreOfOneEngine) {
    record::PointTrace other = called(4, 0.5);
    other.point.settings.engine = EngineKind::native;
    EXPECT_THAT(usage_error([&] {
                    (void)measured_call_table(file_of({called(1, 0.25), other}), wanted());
                }),
                testing::AllOf(HasSubstr("torch on cpu"), HasSubstr("native on cpu")));
    other.point.settings.patch = 128;
    EXPECT_EQ(measured_call_table(file_of({called(1, 0.25), other}), wanted()), "1:0.25") << "of other work";
}

TEST(MeasuredCalls, OtherWorkIsNoMeasure) {
    config::PointSettings other = wanted();
    other.patch = 128;
    const ResultsFile file = file_of({called(4, 0.5), simulated(called(1, 0.25))});
    EXPECT_THAT(usage_error([&] { (void)measured_call_table(file, other); }),
                testing::AllOf(HasSubstr("patch 128"), HasSubstr("dncnn-p64-h0-b4-fp32")));
    other = wanted();
    other.halo = {config::HaloSetting::Kind::exact, 0};
    EXPECT_THAT(usage_error([&] { (void)measured_call_table(file, other); }),
                testing::AllOf(HasSubstr("timed.results"), HasSubstr("halo")));
    other.halo = {config::HaloSetting::Kind::automatic, 0};
    EXPECT_THAT(usage_error([&] { (void)measured_call_table(file, other); }), HasSubstr("timed.results"))
        << "which halo that is is not known yet";
    EXPECT_EQ(measured_call_table(file, wanted()), "4:0.5") << "what was simulated was not measured";
    EXPECT_THAT(usage_error([&] { (void)measured_call_table(file_of({}), wanted()); }), HasSubstr("timed.results"));
    record::PointTrace small = called(4, 0.5);
    small.point.source.extent.h = 63;
    EXPECT_THAT(usage_error([&] { (void)measured_call_table(file_of({small}), wanted()); }), HasSubstr("extent"))
        << "its windows have fewer rows";
    other = wanted();
    other.image.path.clear();
    other.image.height = 63;
    EXPECT_EQ(measured_call_table(file_of({small}), other), "4:0.5");
    other.image.path = "large.png";
    EXPECT_THROW((void)measured_call_table(file_of({small}), other), UsageError);
    record::PointTrace in_slabs = called(4, 0.5);
    in_slabs.point.exchanges_rows = true;
    EXPECT_THAT(usage_error([&] { (void)measured_call_table(file_of({in_slabs}), wanted()); }),
                HasSubstr("timed.results"))
        << "a slab is no window";
    record::PointTrace untimed = called(4, 0.5);
    for (record::RankTrace& rank : untimed.ranks) rank.forward_call_s.clear();
    EXPECT_THAT(usage_error([&] { (void)measured_call_table(file_of({untimed}), wanted()); }),
                testing::AllOf(HasSubstr("timed.results"), HasSubstr("timed calls")));
}

/// A plan of `points`, each with one warm-up and two timed repetitions.
plan::Plan twice(const std::vector<record::PointTrace>& traces) {
    plan::Plan plan;
    for (const auto& trace : traces) {
        plan::Point& point = plan.points.emplace_back(trace.point);
        point.settings.protocol.warmup_reps = 1;
        point.settings.protocol.min_reps = 2;
        point.settings.protocol.max_time_s = 0;
        point.settings.protocol.forward_calls = 0;
    }
    return plan;
}

TEST(ExpectedTime, IsThatOfThePassesAtEarlierRates) {
    const std::vector<ResultsFile> earlier{file_of({ranks_trace(1, 10)}), file_of({ranks_trace(2, 6)})};
    plan::Plan plan = twice({ranks_trace(1, 0), ranks_trace(2, 0)});
    EXPECT_NEAR(expected_time(plan, earlier)->seconds(), 3 * 10 + 3 * 6, 1e-9);
    EXPECT_EQ(expected_time(plan, earlier)->ranks, std::pair(1, 2));
    plan.points[0].source.extent.h *= 2;  // twice the work
    EXPECT_NEAR(expected_time(plan, earlier)->seconds(), 3 * 20 + 3 * 6, 1e-9);
    plan.points[0].settings.protocol.max_time_s = 100;
    EXPECT_NEAR(expected_time(plan, earlier)->seconds(), 20 + 100 + 3 * 6, 1e-9);
    plan.points[0].settings.protocol.max_reps = 3;
    EXPECT_NEAR(expected_time(plan, earlier)->seconds(), 20 + 60 + 3 * 6, 1e-9);
    plan.points[1].settings.protocol.warmup_time_s = 50;
    EXPECT_NEAR(expected_time(plan, earlier)->seconds(), 20 + 60 + 50 + 2 * 6, 1e-9);
}

TEST(ExpectedTime, HasTheForwardCallsAlone) {
    const std::vector<ResultsFile> earlier{file_of({ranks_trace(1, 10)})};
    plan::Plan plan = twice({ranks_trace(1, 0)});
    plan::Point& point = plan.points[0];
    const int64_t num_calls = plan::calls_of_busiest_rank(point);
    point.settings.protocol.forward_calls = 3 * num_calls;
    EXPECT_NEAR(expected_time(plan, earlier)->seconds(), 3 * 10 * (1 + 3), 1e-9);
    point.batch.reset();
    EXPECT_NEAR(expected_time(plan, earlier)->seconds(), 3 * 10, 1e-9) << "not known yet";
    point.source.extent.h *= 4;
    EXPECT_NEAR(expected_time(plan, earlier)->seconds(), 3 * 40, 1e-9) << "by pixels, where FLOP are not known";
}

TEST(ExpectedTime, HasWhatSurroundsThePasses) {
    record::PointTrace timed = ranks_trace(1, 10);
    plan::Plan plan = twice({timed, timed});
    std::tie(timed.read_s, timed.noise_s, timed.load_s, timed.prepare_s, timed.write_s) = std::tuple(1, 2, 4, 8, 16);
    const auto expected = expected_time(plan, std::vector<ResultsFile>{file_of({timed})});
    EXPECT_NEAR(expected->passes_s, 2 * 30, 1e-9);
    EXPECT_NEAR(expected->around_s, 2 * 31, 1e-9);
    EXPECT_NEAR(expected->seconds(), 122, 1e-9);
    for (plan::Point& point : plan.points) point.source.extent.h *= 2;
    EXPECT_NEAR(expected_time(plan, std::vector<ResultsFile>{file_of({timed})})->around_s, 2 * (12 + 2 * 19), 1e-9)
        << "an engine starts in the same time";
}

TEST(ExpectedTime, CountsWhatRunsANetworkAndWasMeasured) {
    plan::Plan plan = twice({ranks_trace(1, 0), ranks_trace(1, 0), simulated(ranks_trace(1, 0))});
    plan.points[1].refusal = "no such device";
    record::PointTrace failed = ranks_trace(1, 3);
    failed.status = record::PointStatus::oom;
    const std::vector<ResultsFile> earlier{file_of({simulated(ranks_trace(1, 1)), failed, ranks_trace(1, 10)})};
    const auto expected = expected_time(plan, earlier);
    ASSERT_TRUE(expected);
    EXPECT_NEAR(expected->seconds(), 30, 1e-9);
    EXPECT_EQ(expected->num_points, 1U);
    EXPECT_EQ(expected->num_earlier, 1U);
    EXPECT_FALSE(expected_time(plan, std::vector<ResultsFile>{file_of({failed})}));
    EXPECT_FALSE(expected_time(plan, {}));
}

TEST(ExpectedTime, SaysWhichOfTheEarlierPointsAreNoMeasure) {
    plan::Plan plan = twice({ranks_trace(1, 0), ranks_trace(1, 0), ranks_trace(1, 0)});
    plan.points[1].settings.dtype = Precision::bf16;
    plan.points[2].num_ranks = 2;
    std::vector<ResultsFile> earlier{file_of({ranks_trace(1, 10), ranks_trace(1, 10), ranks_trace(1, 10)})};
    for (RecordedPoint& point : earlier[0].points) point.summary.validity = measure::Validity::valid;
    earlier[0].points[0].summary.validity = measure::Validity::invalid;
    earlier[0].points[1].summary.validity = measure::Validity::failed;
    const auto expected = expected_time(plan, earlier);
    ASSERT_TRUE(expected);
    EXPECT_EQ(expected->num_invalid, 2U);
    EXPECT_EQ(expected->num_unlike, 2U);
}

}  // namespace
}  // namespace pb::report
