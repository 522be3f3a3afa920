#include "report/tables/tables.hpp"

#include "measure/three_rank_trace.hpp"
#include "plan/context.hpp"
#include "plan/prediction.hpp"
#include "plan/rows.hpp"
#include "report/tables/text.hpp"
#include "report/tables/text_table.hpp"
#include "support/study_points.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <regex>
#include <sstream>

namespace pb::report {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

size_t widest_line(const std::string& text) {
    size_t widest = 0;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) widest = std::max(widest, line.size());
    return widest;
}

size_t occurrences(const std::string& text, const std::string& word) {
    size_t count = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
    return count;
}

plan::Topology three_hosts() {
    plan::Topology topology = plan::make_local_topology(3);
    for (auto& place : topology.ranks) place.host = "node" + std::to_string(place.rank);
    topology.ranks[1].device = {DeviceKind::cuda, 0};
    topology.ranks[1].device_name = "Some GPU";
    return topology;
}

TEST(Numbers, HaveFourDigits) {
    EXPECT_EQ(readable(std::nullopt), "-");
    EXPECT_EQ(readable(0.0), "0");
    EXPECT_EQ(readable(123456.7), "123457");
    EXPECT_EQ(readable(12.345678), "12.35");
    EXPECT_EQ(readable(2.25), "2.250");
    EXPECT_EQ(readable(0.0012345), "0.001234");
    EXPECT_EQ(readable(2.5e-7), "2.5e-07");
    EXPECT_EQ(readable(2.51e6), "2.5e+06");
    EXPECT_EQ(readable(1e6), "1e+06");
    EXPECT_EQ(readable(1e-3), "0.001000");
    EXPECT_EQ(readable(std::numeric_limits<double>::infinity()), "inf");
}

TEST(Numbers, OfManyNamesOneIsAnExample) {
    EXPECT_EQ(few_names({"a", "b", "c", "d"}), "a, b, c, d");
    EXPECT_EQ(few_names({"a", "b", "c", "d", "e"}), "5 points, e.g. a");
}

TEST(Table, ColumnsAlignInCharactersNotBytes) {
    TextTable table;
    table.add_column("a → b", TextTable::Align::left);
    table.add_column("n");
    table.add_row({"ää → ö", "1"});
    table.add_row({"x", "23"});
    EXPECT_EQ(table.text(), "a → b    n\n------  --\nää → ö   1\nx       23\n");
    EXPECT_THROW(table.add_row({"one cell"}), Error);
}

TextTable wide_table() {
    TextTable table;
    table.add_column("key", TextTable::Align::left);
    for (const char* heading : {"first\nfigure", "second", "third"}) table.add_column(heading);
    table.add_row({"a", "1.000", "22", "333"});
    table.add_row({"bb", "4", "5", "6"});
    return table;
}

TEST(Table, TooWideForTheTerminalContinuesBelow) {
    const std::string whole =
        "      first\nkey  figure  second  third\n---  ------  ------  -----\n"
        "a     1.000      22    333\nbb        4       5      6\n";
    EXPECT_EQ(wide_table().text(), whole);
    EXPECT_EQ(wide_table().text(26), whole) << "just fits";
    EXPECT_EQ(wide_table().text(25),
              "      first\nkey  figure  second\n---  ------  ------\na     1.000      22\nbb        4       5\n\n"
              "key  third\n---  -----\na      333\nbb       6\n");
    EXPECT_EQ(occurrences(wide_table().text(1), "key"), 3u) << "a column is never cut";
}

TEST(Table, BreaksProseBetweenWords) {
    TextTable table;
    table.add_column("key", TextTable::Align::left);
    table.add_column("meaning", TextTable::Align::prose);
    table.add_row({"a", "words that go on for longer than the terminal is wide"});
    table.add_row({"b", "few"});
    EXPECT_EQ(widest_line(table.text()),
              5 + std::string("words that go on for longer than the terminal is wide").size());
    EXPECT_EQ(table.text(40),
              "key  meaning\n---  -----------------------------------\na    words that go on for longer than\n"
              "     the terminal is wide\nb    few\n");
    EXPECT_THAT(table.markdown(), HasSubstr("| --- | --- |"));
}

TEST(Table, ProseTakesTheRoomBetweenTheOtherColumns) {
    TextTable table;
    table.add_column("key", TextTable::Align::left);
    table.add_column("n");
    table.add_column("meaning", TextTable::Align::prose);
    table.add_row({"a", "1", "words that go on for longer than the terminal is wide"});
    EXPECT_EQ(table.text(40),
              "key  n  meaning\n---  -  --------------------------------\na    1  words that go on for longer than\n"
              "        the terminal is wide\n");
    EXPECT_EQ(widest_line(table.text(10)), 5U + 24U) << "prose has some room in any terminal, beside the key";
}

TEST(Table, EachOfTwoProsesIsWhole) {
    TextTable table;
    table.add_column("first", TextTable::Align::prose);
    table.add_column("second", TextTable::Align::prose);
    table.add_row({"words that go on for longer than there is room in this column", "few"});
    EXPECT_THAT(table.text(40), AllOf(HasSubstr("in this column"), HasSubstr("few")));
}

TEST(Table, AsMarkdownHasOneLineARow) {
    TextTable table;
    table.add_column("two\nwords", TextTable::Align::left);
    table.add_column("m/\nn");
    table.add_row({"a|b", "1"});
    EXPECT_EQ(table.markdown(), "| two words | m/n |\n| --- | --: |\n| a\\|b | 1 |\n");
    EXPECT_EQ(escaped_markdown("<img src=x>\n[x](y) [1, 2]"), "&lt;img src=x> [x]\\(y) [1, 2]");
}

TEST(PointsTable, SurvivesPointsThatSayLessThanTheFirst) {
    measure::Summary one = measure::summarise(three_rank_trace()), other = one;
    other.context.clear();
    EXPECT_THAT(points_table({one, other}), HasSubstr("left"));
    EXPECT_THAT(points_table({other, one}), HasSubstr("dncnn"));
}

TEST(PointsTable, SaysWhatWasMeasuredInATerminalsWidth) {
    const std::string text =
        points_table({measure::summarise(three_rank_trace()), measure::summarise(three_rank_trace())});
    const std::string table = text.substr(0, text.find("What limits them"));  // prose wraps by itself
    EXPECT_LE(widest_line(table), 125u) << text;                              // in bytes: an arrow has three
    EXPECT_THAT(text, AllOf(HasSubstr("2.250 [2.000, 2.700]"), HasSubstr("300 (1)"), HasSubstr("20.10 → 31.25"),
                            HasSubstr("2.5e-07"), HasSubstr("0.444"), HasSubstr("8.889")));
}

TEST(PointsTable, SaysOnceWhatAllPointsShare) {
    measure::Summary one = measure::summarise(three_rank_trace()), other = one;
    const std::string shared = points_table({one, other});
    EXPECT_EQ(occurrences(shared, "left"), 1u) << shared;
    EXPECT_EQ(shared.find("image: "), 0u);
    EXPECT_THAT(shared, Not(HasSubstr(" | \n")));
    other.context[0].second = "another 10 x 10 x 1";
    const std::string varying = points_table({one, other});
    EXPECT_EQ(occurrences(varying, "another 10 x 10 x 1"), 1u) << varying;
    EXPECT_THAT(varying, Not(HasSubstr("image: ")));
    const auto weights = std::ranges::find(one.context, "weights", [](const auto& entry) { return entry.first; });
    ASSERT_NE(weights, one.context.end());
    other = one;
    other.context[static_cast<size_t>(weights - one.context.begin())].second = "default";
    EXPECT_EQ(occurrences(points_table({one, other}), "default"), 1u);
    other.status = record::PointStatus::skipped;
    for (const auto& summaries : {std::vector{one, other}, std::vector{other, one}})
        EXPECT_THAT(points_table(summaries), AllOf(HasSubstr("weights: " + weights->second), Not(HasSubstr("default"))))
            << "a point that was not begun does not know them";
}

TEST(PointsTable, SharesRemarksAndLeavesEmptyColumnsOut) {
    record::PointTrace trace = three_rank_trace();
    trace.quality.reset();
    trace.verification.outcome = record::Verification::Outcome::off;
    const std::string text = points_table({measure::summarise(trace), measure::summarise(trace)});
    EXPECT_EQ(occurrences(text, "not verified"), 1u) << text;
    EXPECT_THAT(text, AllOf(HasSubstr("all points: "), Not(HasSubstr("PSNR dB")), HasSubstr("INVALID")));
    EXPECT_THAT(points_table({measure::summarise(trace)}), Not(HasSubstr("all points"))) << "there is one";
}

/// Points of which all but the label and the rates are equal.
std::vector<measure::Summary> similar_points(int64_t count) {
    std::vector<measure::Summary> summaries;
    for (int64_t i = 0; i < count; ++i) {
        measure::Summary& summary = summaries.emplace_back(measure::summarise(three_rank_trace()));
        summary.index = i;
        summary.label = "dncnn-native-p256-h20-b" + std::to_string(i) + "-fp32";
        summary.patches_per_s = 8 + static_cast<double>(i);
        summary.pipeline_s = 2 + static_cast<double>(i) / 10;
    }
    return summaries;
}

TEST(PointsTable, OfALongStudyHasOneRowAPointInANarrowTerminal) {
    const auto summaries = similar_points(36);
    const measure::Recommendation best{.point = 7, .point_label = summaries[7].label};
    const std::string text = points_table(summaries, {best}, {.width = 80, .most = 3});
    const std::string rows = text.substr(text.find("\n\n"), text.find("no room for") - text.find("\n\n"));
    EXPECT_LE(widest_line(rows), 82u) << "in bytes: a plus-minus sign has two";
    EXPECT_EQ(occurrences(text, "\ndncnn-native-p256"), 36u) << text;
    EXPECT_EQ(occurrences(text, "\npoint "), 1u) << text;
    EXPECT_THAT(text, HasSubstr("| status: ok\n")) << "what is equal is said once";
    EXPECT_THAT(text, HasSubstr("-b7-fp32 " + std::string(kStar)));
    EXPECT_THAT(text, AllOf(HasSubstr("2.300 ±15 %"), Not(HasSubstr("[2.000, 2.700]"))));
    EXPECT_THAT(points_table(summaries, {best}, {.most = 3}), HasSubstr("2.300 [2.000, 2.700]")) << "there is room";
}

TEST(PointsTable, LeavesOutTheLeastNeededColumnsOfALongStudyAndNamesThem) {
    auto summaries = similar_points(9);
    for (auto& summary : summaries) {  // nothing is equal
        const auto i = static_cast<double>(summary.index);
        summary.psnr_denoised_db = 30 + i;
        summary.efficiency = 0.1 + i / 100;
        summary.useful_mpx_per_s = 1 + i;
        summary.seam_error = 0.1 + i;
        summary.allocated_peak_mib = 300 + i;
    }
    const std::string text = points_table(summaries, {}, {.width = 80, .most = 3});
    EXPECT_THAT(text, HasSubstr("  no room for PSNR dB before → after, forward/pipeline; --verbose "));
    EXPECT_THAT(text, AllOf(HasSubstr("patches/s"), HasSubstr("peak MiB")));
    EXPECT_EQ(occurrences(text, "\npoint "), 1u) << text;
    EXPECT_THAT(points_table(summaries, {}, {.width = 10, .most = 3}), HasSubstr("\npoint "))
        << "which point it is, is never left out";
    const std::string verbose = points_table(summaries, {}, {.width = 80});
    EXPECT_THAT(verbose, AllOf(Not(HasSubstr("no room")), HasSubstr("before → after")));
    EXPECT_GT(occurrences(verbose, "\npoint "), 1u) << "what does not fit follows below";
}

TEST(Findings, OfALongStudyTakeALineEach) {
    const std::string long_text(200, 'x');
    EXPECT_EQ(finding_line(long_text, {.width = 40, .most = 3}).size(), 41u);
    EXPECT_EQ(finding_line(long_text, {.width = 40}), "  " + long_text + "\n") << "printing breaks it";
    EXPECT_EQ(first_lines({"a", "b", "c"}, {.most = 2}), "  a\n  b\n  and 1 more; --verbose prints all\n");
}

TEST(PointsTable, MarksThePointToTakeAndNoOther) {
    record::PointTrace other = three_rank_trace();
    other.point.index = 5;
    other.point.halo = 16;
    other.verification.seam_error = 0.1;
    const std::vector<record::PointTrace> traces{three_rank_trace(), other};
    const std::vector<measure::Summary> summaries{measure::summarise(traces[0]), measure::summarise(traces[1])};
    const auto recommendations = measure::recommend(measure::study_points(traces, summaries));
    const std::string text = points_table(summaries, recommendations);
    EXPECT_EQ(occurrences(text, kStar), 1u) << text;
    EXPECT_EQ(occurrences(text, std::string("ok ") + kStar), 1u) << text;
    EXPECT_LT(text.find(kStar), text.find("dncnn-p256-h16")) << "the first, whose seams are not visible";
    measure::StudySummary study;
    study.recommendations = recommendations;
    EXPECT_THAT(study_text(study),
                HasSubstr(std::string("Which point to take\n  dncnn-fp32: ") + kStar + " dncnn-p256-h20-b4-fp32: "));
    study.recommendations = measure::recommend(measure::study_points({other}, {summaries[1]}));
    EXPECT_THAT(study_text(study), AllOf(HasSubstr("  dncnn-fp32: "), Not(HasSubstr(kStar))));
}

TEST(StudyText, HasThePartsThatTheStudyHas) {
    measure::StudySummary study;
    EXPECT_EQ(study_text(study), "");
    study.batch_times = {{.label = "a label", .scope = measure::TimeScope::forward, .samples = {}, .fit = {}}};
    study.batch_times[0].fit.fastest_batch = 16;
    EXPECT_THAT(study_text(study), ContainsRegex("a label.*: fastest batch 16;"));
    EXPECT_THAT(study_text(study), AllOf(Not(HasSubstr("Which point")), Not(HasSubstr("against"))));
    study.batch_times.push_back(study.batch_times[0]);
    EXPECT_EQ(occurrences(study_text(study, {.most = 2}), "fastest batch 16;"), 2U);
    EXPECT_THAT(study_text(study, {.most = 1}), AllOf(HasSubstr("2 curves of time"), Not(HasSubstr("fastest batch"))));
    study = {};
    study.variants = {{.by = measure::VariedBy::dtype, .label = "a label", .base_variant = "fp32", .points = {{}}}};
    study.variants[0].points[0].variant = "bf16";
    EXPECT_THAT(study_text(study), AllOf(HasSubstr("against"), HasSubstr("a label: bf16")));
    EXPECT_THAT(study_text(study), Not(HasSubstr("fastest batch")));
}

TEST(StudyText, NamesTheCurveUpToTheFastestBatchAndThatOfAll) {
    measure::StudySummary study;
    study.batch_times = {{.label = "a label", .scope = measure::TimeScope::forward, .samples = {}, .fit = {}}};
    const auto curve_to = [](double batch) {
        measure::BatchCurve curve;
        curve.line = {{1, 1, std::nullopt}, {batch, 1, std::nullopt}};
        return curve;
    };
    study.batch_times[0].fit.left_arm = curve_to(4);
    study.batch_times[0].fit.falling = curve_to(8);
    study.batch_times[0].fit.rising = curve_to(16);
    EXPECT_THAT(study_text(study), AllOf(ContainsRegex("left arm: .* b = 1..4:"), ContainsRegex("all: .* b = 1..16:")));
}

measure::PointProfile profile_of_layers(int num_layers) {
    measure::PointProfile profile{
        .point = 4, .label = "dncnn-p256", .rank = 2, .calls = 3, .windows = 4, .forward_s = 1, .layers = {}};
    const double seconds = 0.9 / num_layers;
    for (int i = 0; i < num_layers; ++i)
        profile.layers.push_back({{.layer = "layer" + std::to_string(i),
                                   .operation = "convolution",
                                   .flop = 1e9,
                                   .executed_flop = 0.5e9,
                                   .bytes = 2e6,
                                   .seconds = seconds},
                                  seconds,
                                  0.25});
    profile.other_s = 0.1;
    return profile;
}

TEST(LayersTable, EndsWithWhatIsBetweenTheLayers) {
    const std::string text = layers_table(profile_of_layers(2));
    EXPECT_THAT(text,
                HasSubstr("Layers of dncnn-p256: a forward call of 4 windows takes 1000 ms on rank 2 (mean of 3"));
    EXPECT_THAT(text, ContainsRegex("layer1 +convolution +450.0 +45.0 +1.000 +0.5000 +2.000 +2.222 +0.004444 +25\n"));
    EXPECT_THAT(text, ContainsRegex("\nother +100.0 +10.0\n$"));
    measure::PointProfile slow = profile_of_layers(2);
    slow.forward_s = 2;
    EXPECT_THAT(layers_table(slow), HasSubstr("takes 2000 ms on rank 2"));
}

TEST(LayersTable, AddsUpTheSmallestOnes) {
    const std::string text = layers_table(profile_of_layers(18));
    EXPECT_THAT(text, AllOf(HasSubstr("layer15 "), Not(HasSubstr("layer16 "))));
    EXPECT_THAT(text, ContainsRegex("2 smaller layers +100.0 +10.0 +2.000 +1.000 +4.000 "));
    EXPECT_THAT(layers_table(profile_of_layers(17)), Not(HasSubstr("smaller"))) << "a row for one is no shorter";
}

TEST(LayersTable, FollowsTheOtherFiguresOfTheStudy) {
    measure::StudySummary study;
    study.profiles.assign(3, profile_of_layers(1));
    EXPECT_EQ(occurrences(study_text(study), "Layers of "), 3U);
    const std::string text = study_text(study, {.most = 2});
    EXPECT_EQ(occurrences(text, "Layers of "), 2U);
    EXPECT_THAT(text, HasSubstr("the layers of 1 more point"));
}

TEST(PointsTable, APointWithoutFiguresIsARowWithItsReason) {
    const std::string text =
        points_table({measure::summarise(three_rank_trace()),
                      measure::summarise(unmeasured_trace(record::PointStatus::oom, "needs 80 GiB"))});
    EXPECT_THAT(text, AllOf(HasSubstr("oom"), HasSubstr("needs 80 GiB")));
    EXPECT_EQ(points_table({}), "no points\n");
}

TEST(PointsTable, SaysInALineAClassWhatLimitsThePoints) {
    measure::Summary one = measure::summarise(three_rank_trace()), other = one, host = one;
    one.label = "first";
    other.label = "second";
    host.label = "third";
    other.bottleneck->share += 0.1;
    other.bottleneck->evidence = "clearer";
    host.bottleneck->limit = measure::Limit::host;
    host.bottleneck->evidence = "gather and scatter take 31 % of the pipeline";
    const std::string text = points_table({one, other, host});
    EXPECT_THAT(text, HasSubstr("\nWhat limits them\n  compute-bound: first, second (second: clearer); try: a lower"));
    EXPECT_THAT(text, HasSubstr("  host-bound: third (gather and scatter take 31 % of the pipeline); try: "));
    EXPECT_THAT(points_table({other, one}), HasSubstr("compute-bound: second, first (second: clearer)"));
    one.bottleneck.reset();
    EXPECT_THAT(points_table({one}), Not(HasSubstr("limits")));
}

TEST(RanksTable, HasARowForEachRankAndSaysWhatGatheredIt) {
    record::PointTrace trace = three_rank_trace();
    const std::string text = ranks_table(measure::summarise(trace), three_hosts());
    EXPECT_THAT(text, AllOf(HasSubstr("by MPI"), HasSubstr("node0"), HasSubstr("cuda:0 Some GPU"), HasSubstr("node2"),
                            AllOf(HasSubstr("rank 0@node0"), HasSubstr("1.036"))));
    EXPECT_EQ(occurrences(text, "node"), 4u) << text;
    EXPECT_THAT(text, HasSubstr("1002")) << "host peak of rank 2, MiB";
    EXPECT_THAT(text, ContainsRegex(" 300 +400 ")) << "allocated and reserved by rank 1";
    trace.ranks[1].memory.device_used = int64_t{777} << 20;
    EXPECT_THAT(ranks_table(measure::summarise(trace), three_hosts()), ContainsRegex(" 300 +400 +777 +1001\n"));
}

TEST(ScalingText, HasTheIntervalOfEachFigure) {
    measure::Scaling scaling{.label = "dncnn", .points = {{.num_ranks = 2}}, .warnings = {}};
    measure::ScalingPoint& point = scaling.points.front();
    point.pipeline_s = 3;
    point.pipeline_range = Interval{2, 4};
    point.speedup = 5;
    point.speedup_range = Interval{6, 7};
    point.efficiency = 8;
    point.efficiency_range = Interval{9, 9.5};
    EXPECT_THAT(scaling_text(scaling, 200), ContainsRegex(" 3.000 .2.000, 4.000. +5.000 .6.000, 7.000. .*"
                                                          " 8.000 .9.000, 9.500. "));
}

TEST(ScalingText, HasTheFiguresOfEachHeading) {
    measure::Scaling scaling{.label = "dncnn", .points = {{.num_ranks = 2}}, .warnings = {}};
    measure::ScalingPoint& point = scaling.points.front();
    point.ideal = 2;
    point.bound = 1.75;
    point.efficiency = 0.5;
    point.efficiency_bound = 0.875;
    point.of_bound = 0.625;
    point.waiting = {{0, 0.001}, {1, 0.25}, {2, 0.125}};
    point.simulated_s = 4;
    point.beyond_bound = 0.25;
    point.overhead_per_window_s = 0.005;
    point.between_s = 0.002;
    point.cpu_per_patch_s = 0.003;
    point.host_cores = 1.5;
    point.host_peak_mib = 1002;
    const std::string text = scaling_text(scaling, 200);
    EXPECT_THAT(text, ContainsRegex(" 2.000 +1.750 +0.5000 +62.5 % +250.0 .1.\n"));
    EXPECT_THAT(text, ContainsRegex(" 4.000 +25.0 % +5.000 +2.000 +3.000 +1.500 +1002\n"));
}

TEST(ScalingText, HasTheSharesOfThePartsThatThereAre) {
    measure::Scaling scaling{.label = "dncnn", .points = {{.num_ranks = 2}, {.num_ranks = 4}}, .warnings = {}};
    scaling.points[0].parts = {{"gather", 0.25}, {"waiting", 0.5}};
    scaling.points[1].parts = {{"gather", 0.125}};
    const std::string text = scaling_text(scaling, 200);
    EXPECT_THAT(text, ContainsRegex("\nranks +gather +waiting\n.*\n +2 +25.0 % +50.0 %\n +4 +12.5 % +-\n"));
}

TEST(RanksTable, NamesTheProcessorOfARank) {
    const record::PointTrace trace = three_rank_trace();
    plan::Topology topology = three_hosts();
    topology.ranks[0].device_name = "Some CPU";
    topology.ranks[2].device_name = "";
    const std::string text = ranks_table(measure::summarise(trace), topology);
    EXPECT_THAT(text, AllOf(ContainsRegex("node0 +Some CPU "), ContainsRegex("node2 +cpu ")));
}

TEST(RanksTable, SurvivesARankThatTheTopologyDoesNotKnow) {
    const record::PointTrace trace = three_rank_trace();
    EXPECT_THAT(ranks_table(measure::summarise(trace), plan::make_local_topology(1)), HasSubstr("?"));
}

TEST(PlanTable, ShowsTheArithmeticOfTheGrid) {
    plan::Plan plan;
    plan.points = {traced_point()};
    plan.points[0].notes = {"a note"};
    const std::string text = plan_table(plan);
    // 1000 x 1250 in patches of 256: 4 x 5 = 20 windows of 296; ranks have 6, 7 and 7, so 2 batches of 4 each
    EXPECT_THAT(text, AllOf(HasSubstr("296 x 296"), HasSubstr(" 20 "), HasSubstr("6-7"), HasSubstr("a note")));
    EXPECT_THAT(text, HasSubstr("1.68")) << "processed / useful: the batches are filled to 24 windows";
    plan.points[0].settings.last_batch = config::LastBatch::ragged;
    EXPECT_THAT(plan_table(plan), HasSubstr("1.40"));
}

TEST(PlanTable, OfMoreWindowsThanCouldBeListedIsArithmeticToo) {
    plan::Plan plan;
    plan.points = {traced_point()};
    plan.points[0].source.extent = {int64_t{1} << 26, int64_t{1} << 26};
    EXPECT_THAT(plan_table(plan), HasSubstr(std::to_string(int64_t{1} << 36))) << "windows of patches of 256";
}

TEST(PlanTable, ShowsAPeakOfLessThanAMebibyte) {
    plan::Plan plan;
    plan.points = {traced_point()};
    plan::Point& point = plan.points[0];
    point.relative = network::DncnnShape{.depth = 2, .width = 8};
    point.settings.patch = 16;
    point.halo = 2;
    point.batch = 1;
    ASSERT_LT(plan::predict(point)->peak_mib, 1);
    EXPECT_THAT(plan_table(plan), ContainsRegex(" 0\\.[0-9]+ +[0-9.e-]+\n"));
}

TEST(PlanTable, LeavesOpenWhatIsToBeTriedOut) {
    plan::Plan plan;
    plan.points = {traced_point(), traced_point()};
    plan.points[0].halo.reset();
    plan.points[1].batch.reset();
    EXPECT_THAT(plan_table(plan), AllOf(HasSubstr("?"), AllOf(HasSubstr("halo"), HasSubstr("batch"))));
}

TEST(ContextTable, SetsTheWaysOfHaloAutoSideBySide) {
    plan::Plan plan;
    plan.points = {traced_point()};
    EXPECT_EQ(context_table(plan), "") << "the halo is given";
    plan::Point& point = plan.points[0];
    point.settings.halo.kind = config::HaloSetting::Kind::automatic;
    point.settings.engine = EngineKind::native;
    point.halo.reset();
    EXPECT_THAT(context_table(plan),
                AllOf(HasSubstr("carried rows"), HasSubstr("exact halo of 20 px"), HasSubstr("at least 1 px"),
                      HasSubstr("after the search"), HasSubstr(">= 1")));
    point = plan::context_ways(point, std::nullopt).front().point;
    EXPECT_THAT(context_table(plan), AllOf(HasSubstr("taken"), Not(HasSubstr("search"))));
    const plan::Point open = point;
    for (const plan::ContextWay& way : plan::context_ways(open, 1)) {
        point = way.point;
        EXPECT_EQ(occurrences(context_table(plan), "taken"), 1U) << context_table(plan);
    }
}

TEST(PlanTable, SaysWhyAPointIsRefused) {
    plan::Plan plan;
    plan.points = {traced_point()};
    plan.points[0].settings.network = network::kind_of<network::DrunetShape>();  // 1250 px are not a multiple of 8
    plan.points[0].settings.workload = config::Workload::whole;
    plan.points[0].settings.odd_shape = OddShape::error;
    plan.points[0].refusal = "odd";
    plan.points[0].batch.reset();
    EXPECT_THAT(plan_table(plan), AllOf(HasSubstr("4: refused: odd"), Not(HasSubstr("?"))));
}

TEST(PlanTable, PredictsNoPeakOfAnotherFramework) {
    plan::Plan plan;
    plan.points = {traced_point()};
    plan.points[0].source.extent.h = 200;
    EXPECT_THAT(prediction_text(plan), HasSubstr("200 x 296 cropped to what the core needs: 2.5 MiB of weights + "));
    plan.points[0].settings.layout = Layout::contiguous;  // not cropped
    EXPECT_THAT(prediction_text(plan), HasSubstr("MiB + "));
    plan.points[0].settings.engine = EngineKind::openvino;
    EXPECT_THAT(plan_table(plan),
                AllOf(HasSubstr("dncnn-openvino-"), ContainsRegex(" - +[0-9]"), Not(HasSubstr(" 0.0 "))));
    EXPECT_EQ(prediction_text(plan), "");
}

TEST(PlanTable, OfManyPointsIsShortAndSharesItsNotes) {
    plan::Plan plan;
    plan.points.assign(7, traced_point());
    for (int64_t i = 0; i < 7; ++i) plan.points[static_cast<size_t>(i)].index = i;
    for (const size_t i : {0, 6}) plan.points[i].notes = {"a note"};
    const std::string whole = plan_table(plan);
    EXPECT_EQ(occurrences(whole, "296 x 296"), 7u);
    EXPECT_EQ(occurrences(whole, "a note"), 1u) << whole;
    EXPECT_THAT(whole, HasSubstr("  0, 6: a note\n"));
    const std::string text = plan_table(plan, std::nullopt, {kAnyWidth, 3});
    EXPECT_EQ(occurrences(text, "296 x 296"), 0u) << text;
    EXPECT_THAT(text, AllOf(HasSubstr("7 points"), HasSubstr("--verbose"), HasSubstr("0, 6: a note")));
    EXPECT_LE(widest_line(plan_table(plan, std::nullopt, {60, 7})), 64u) << "notes may be longer";
}

TEST(PlanTable, ShowsWholeImages) {
    plan::Plan plan;
    plan.points = {traced_point()};
    plan.points[0].settings.workload = config::Workload::whole;
    EXPECT_THAT(plan_table(plan), ContainsRegex(" 1000 x 1250 x 3 .* 1000 x 1250 +1 +0-1 +0-1 "))
        << "image, window, windows, batches and patches: two ranks have nothing to do";
    plan.points[0].settings.replicate = true;
    EXPECT_THAT(plan_table(plan), ContainsRegex(" 1000 x 1250 +1 +1 +1 "));
}

TEST(ExchangeText, NamesTheRowsOfTheFirstRanksAndOfTheLast) {
    plan::Plan plan;
    plan::Point& point = plan.points.emplace_back(traced_point());
    point.settings.engine = EngineKind::native;
    point.num_ranks = 8;
    plan::settle_exchanged(point);
    const std::string text = exchange_text(plan, std::nullopt, std::nullopt);
    EXPECT_THAT(text, ContainsRegex("rows of the ranks: 0-127, 128-255, 256-383, 384-511, .., 896-999\n"));
    EXPECT_EQ(occurrences(text, ".."), 1u) << text;
}

TEST(ExchangeText, OneRankAloneSendsNothing) {
    const auto text_of = [](int64_t num_ranks) {
        plan::Plan plan;
        plan::Point& point = plan.points.emplace_back(traced_point());
        point.settings.engine = EngineKind::native;
        point.num_ranks = num_ranks;
        plan::settle_exchanged(point);
        return exchange_text(plan, std::nullopt, std::nullopt);
    };
    EXPECT_THAT(text_of(1), AllOf(HasSubstr("nothing travels"), Not(HasSubstr("exchanges a pass"))));
    EXPECT_THAT(text_of(2), AllOf(HasSubstr(" exchanges a pass"), Not(HasSubstr("nothing travels"))));
}

TEST(PlanTable, SaysHowItPredicts) {
    plan::Plan plan;
    plan.points = {traced_point(), traced_point(), traced_point()};
    for (auto& point : plan.points) point.settings.layout = Layout::contiguous;  // not cropped
    plan.points[1].settings.network = network::kind_of<network::DrunetShape>();
    plan.points[1].settings.dtype = Precision::bf16;
    plan.points[2].device = DeviceKind::cuda;
    plan.points[2].settings.cuda_graph = true;  // not cropped there
    const std::string text = prediction_text(plan);
    // 668,227 parameters of 4 bytes; 3 channels in and out; two maps of 64 channels, and both in oneDNN's layout
    EXPECT_THAT(text, HasSubstr("dncnn, engine torch, fp32, contiguous, 3 channels: 2.5 MiB + 24 B x pixels + 1024 B x "
                                "pixels + 0.1 MiB\n"));
    EXPECT_THAT(
        text,
        HasSubstr("drunet, engine torch, bf16, contiguous, 3 channels: 62.3 MiB + 14 B x pixels + max(896 B x pixels"));
    EXPECT_THAT(text, HasSubstr("48 B x pixels x 2 batches"));
    EXPECT_THAT(text, HasSubstr("scratch"));
    plan.points[2].settings.cuda_graph = false;  // 4 windows of 296 x 296 in each of two batches
    EXPECT_THAT(prediction_text(plan), HasSubstr("32.1 MiB of input and output"));
    std::smatch parts;
    const std::string cropped = prediction_text(plan);
    ASSERT_TRUE(std::regex_search(
        cropped, parts, std::regex("([0-9.]+) MiB of weights . ([0-9.]+) MiB of maps . ([0-9.]+) MiB of input")));
    EXPECT_NEAR(std::stod(parts[1]) + std::stod(parts[2]) + std::stod(parts[3]),
                plan::predict(plan.points[2])->peak_mib, 0.15);
    plan.points[2].batch = 1;
    const std::string of_one = prediction_text(plan);
    plan.points[2].batch.reset();
    EXPECT_EQ(prediction_text(plan), of_one) << "while the batch is open";
    plan.points.resize(2);
    EXPECT_THAT(prediction_text(plan), Not(HasSubstr("scratch")));
    for (auto& point : plan.points) point.refusal = "no";
    EXPECT_EQ(prediction_text(plan), "");
}

}  // namespace
}  // namespace pb::report
