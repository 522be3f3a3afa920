#include "report/export/exports.hpp"

#include "base/statistics.hpp"
#include "measure/three_rank_trace.hpp"
#include "report/metrics.hpp"
#include "results_of.hpp"
#include "support/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <map>
#include <set>

namespace pb::report {
namespace {

using Parsed = nlohmann::json;
using Files = std::vector<ResultsFile>;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kLabel = "dncnn-p256-h20-b4-fp32";

Parsed exported(const char* format, const Files& files) {
    return Parsed::parse(find_export_format(format).text(files));
}

record::PointTrace unverified_trace() {
    record::PointTrace trace = three_rank_trace();
    trace.verification = {};
    trace.point.index = 9;
    return trace;
}

/// Returns a VALID point, an INVALID one and one that was not measured.
Files mixed() {
    record::PointTrace oom = unmeasured_trace(record::PointStatus::oom, "no room");
    oom.point.index = 7;
    return {results_of({three_rank_trace(), unverified_trace(), oom})};
}

TEST(Exports, HaveDifferentNamesAndAnUnknownOneListsThem) {
    std::set<std::string> names;
    for (const auto& format : export_formats()) EXPECT_TRUE(names.insert(format.name).second) << format.name;
    const std::string refusal = usage_error([] { (void)find_export_format("xml"); });
    for (const auto& name : names) EXPECT_THAT(refusal, HasSubstr(name));
}

TEST(Exports, AreJsonEvenOfNothingOrOfBytesThatAreNoText) {
    record::PointTrace trace = three_rank_trace();
    trace.reason = trace.point.settings.weights = trace.weights_source = "\xff\xfe";
    auto odd = results_of({trace});
    odd.points[0].summary.label = "\xff";
    for (const auto& format : export_formats())
        for (const auto& files : {Files{results_of({})}, Files{odd}})
            EXPECT_FALSE(Parsed::parse(format.text(files), nullptr, false).is_discarded()) << format.name;
}

TEST(Exports, HoldWhatIsValidAndNameTheRest) {
    EXPECT_EQ(exported("bmf", mixed()).size(), 1u);
    EXPECT_THAT(left_out_of_exports(mixed()), ElementsAre(AllOf(StartsWith(kLabel), HasSubstr(": oom")),
                                                          AllOf(StartsWith(kLabel), HasSubstr(": INVALID"))));
    EXPECT_EQ(exported("gbench", mixed())["context"]["left_out"].size(), 2u);
    EXPECT_TRUE(any_exported(mixed()));
    EXPECT_FALSE(any_exported(Files{results_of({})}));
    Files untimed{results_of({three_rank_trace()})};
    untimed[0].points[0].summary.pipeline_s.reset();
    EXPECT_FALSE(any_exported(untimed)) << "valid, and without a time";
}

TEST(Exports, OfSeveralFilesNameThemAndTellEqualNamesApart) {
    const Files files{results_of({three_rank_trace()}, "/runs/monday/results.jsonl"),
                      results_of({three_rank_trace()}, "/runs/tuesday/results.jsonl"),
                      results_of({three_rank_trace()}, "/other/monday/results.jsonl")};
    const Parsed bmf = exported("bmf", files);
    for (const char* source : {"runs/monday/", "tuesday/", "other/monday/"})
        EXPECT_TRUE(bmf.contains(std::string(source) + kLabel)) << bmf.dump();
    const Parsed twice = exported("bmf", {files[0], files[0]});
    for (const char* source : {"monday/", "monday-2/"})
        EXPECT_TRUE(twice.contains(std::string(source) + kLabel)) << "one file, named twice: " << twice.dump();
}

record::PointTrace with_threads(int64_t index, int64_t threads) {
    record::PointTrace trace = three_rank_trace();
    trace.point.index = index;
    trace.point.settings.threads.count = threads;
    return trace;
}

std::map<std::string, double> times_of(const Files& files) {
    const Parsed bmf = exported("bmf", files);
    std::map<std::string, double> times;
    for (const auto& [name, measures] : bmf.items()) times[name] = measures["pipeline_s"]["value"];
    return times;
}

TEST(Exports, NamePointsByTheirSettingsWhereverTheyStand) {
    record::PointTrace slow = with_threads(1, 2);
    for (auto& seconds : slow.wall_s) seconds *= 2;
    record::PointTrace other = with_threads(2, 2);
    other.point.num_ranks = 2;
    const std::string one = std::string(kLabel) + "/threads=1", two = std::string(kLabel) + "/threads=2";
    const auto times = times_of({results_of({with_threads(0, 1), slow})});
    ASSERT_THAT(times, ElementsAre(testing::Key(one), testing::Key(two)));
    EXPECT_EQ(times.at(two), 2 * times.at(one));
    EXPECT_EQ(times_of({results_of({slow, with_threads(0, 1)})}), times);
    EXPECT_THAT(
        times_of({results_of({slow, with_threads(0, 1), other})}),
        ElementsAre(testing::Key(one + "/ranks=3"), testing::Key(two + "/ranks=2"), testing::Key(two + "/ranks=3")));
}

TEST(Exports, NumberPointsWithTheSameSettingsFromTheSecondOn) {
    EXPECT_THAT(times_of({results_of({with_threads(0, 1), with_threads(5, 1)})}),
                ElementsAre(testing::Key(kLabel), testing::Key(std::string(kLabel) + "#2")));
}

TEST(Bmf, HasTheHeadlinesAndTheIntervalOfTheTime) {
    const Parsed point = exported("bmf", {results_of({three_rank_trace()})})[kLabel];
    EXPECT_EQ(point["pipeline_s"], Parsed::parse(R"({"value":2.25,"lower_value":2.0,"upper_value":2.7})"));
    EXPECT_EQ(point["allocated_peak_mib"], Parsed::parse(R"({"value":300.0})"));
    EXPECT_FALSE(point.contains("repetitions"));
    for (const auto& [key, measure] : point.items()) EXPECT_TRUE(measure["value"].is_number()) << key;
}

record::PointTrace short_trace() {
    record::PointTrace trace = three_rank_trace();
    trace.wall_s.resize(3);
    for (auto& rank : trace.ranks) {
        rank.wall_s.resize(3);
        rank.stage_s.resize(3);
    }
    return trace;
}

TEST(Bmf, HasNoIntervalOfFewRepetitions) {
    const Parsed point = exported("bmf", {results_of({short_trace()})})[kLabel];
    EXPECT_EQ(point["pipeline_s"], Parsed::parse(R"({"value":2.2})"));
}

TEST(Bmf, LeavesOutWhatIsNoNumber) {
    record::PointTrace trace = three_rank_trace();
    trace.quality->psnr_denoised_db = std::numeric_limits<double>::infinity();
    const Parsed point = exported("bmf", {results_of({trace})})[kLabel];
    EXPECT_TRUE(point.contains("seam_error"));
    EXPECT_FALSE(point.contains("psnr_denoised_db"));
}

TEST(Chrome, HasAProcessForEachRankAndALineForEachStage) {
    const Parsed trace = exported("chrome", {results_of({three_rank_trace()})});
    std::map<int, std::string> processes;
    std::map<int, std::string> threads;
    std::map<int, int> places;
    int spans = 0;
    for (const auto& event : trace["traceEvents"]) {
        if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
        if (event["name"] == "thread_name") threads[event["tid"]] = event["args"]["name"];
        if (event["name"] == "process_sort_index") places[event["pid"]] = event["args"]["sort_index"];
        if (event["ph"] == "X" && threads[event["tid"]] != "point") {
            EXPECT_EQ(event["name"], threads[event["tid"]]);
            ++spans;
        }
    }
    EXPECT_THAT(processes, testing::SizeIs(kTraceRanks));
    EXPECT_THAT(processes[2], StartsWith("rank 2@"));
    EXPECT_EQ(places, (std::map<int, int>{{0, 0}, {1, 1}, {2, 2}}));
    EXPECT_EQ(spans, 2 * kTraceRanks);
}

TEST(Chrome, ARankOnAnotherHostIsAnotherProcess) {
    record::PointTrace elsewhere = three_rank_trace();
    elsewhere.ranks[0].host = "elsewhere";
    const Parsed trace = exported("chrome", {results_of({three_rank_trace()}), results_of({elsewhere})});
    std::map<int, std::string> processes;
    std::map<std::string, int> spans;
    for (const auto& event : trace["traceEvents"]) {
        if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
        if (event["name"] == "forward") ++spans[processes.at(event["pid"])];
    }
    EXPECT_THAT(processes, testing::SizeIs(kTraceRanks + 1));
    EXPECT_EQ(spans["rank 0@elsewhere"], 1);
    EXPECT_EQ(spans["rank 0@" + three_rank_trace().ranks[0].host], 1);
}

TEST(Chrome, PutsSpansOnOneClockInMicroseconds) {
    const Parsed trace = exported("chrome", {results_of({three_rank_trace()})});
    for (const auto& event : trace["traceEvents"]) {
        if (event["name"] != "forward" || event["ph"] != "X" || event["pid"] != 1) continue;
        EXPECT_NEAR(event["ts"], 0.01e6, 1);
        EXPECT_NEAR(event["dur"], 0.89e6, 1);
        EXPECT_EQ(event["args"]["batch"], 0);
        return;
    }
    FAIL() << "rank 1 has no forward call";
}

TEST(Chrome, SaysOfAPointWhatItsClockAndItsTimelineLack) {
    const Parsed trace = exported("chrome", {results_of({three_rank_trace()})});
    std::map<int, Parsed> lacks;
    for (const auto& event : trace["traceEvents"])
        if (event["ph"] == "X" && event["tid"] == 0) lacks[event["pid"]] = event["args"];
    ASSERT_EQ(lacks.size(), static_cast<size_t>(kTraceRanks));
    EXPECT_EQ(lacks[0]["clock_error_us"], 0);
    EXPECT_NEAR(lacks[2]["clock_error_us"], 2.5, 1e-9);
    EXPECT_EQ(lacks[2]["spans_left_out"], 3);
}

TEST(Chrome, LetsPointsFollowOneAnother) {
    record::PointTrace first = three_rank_trace(), second = unverified_trace();  // a timeline needs no VALID point
    first.ranks[0].timeline.spans.back().end_s = 5;  // the rank that ends last is not the last rank
    second.ranks[1].timeline = {};
    const Parsed trace = exported("chrome", {results_of({first, second, unverified_trace()})});
    std::vector<std::pair<double, double>> points;
    for (const auto& event : trace["traceEvents"])
        if (event["ph"] == "X" && event["tid"] == 0 && event["pid"] == 0)
            points.emplace_back(event["ts"], event["ts"].get<double>() + event["dur"].get<double>());
    ASSERT_EQ(points.size(), 3u);
    EXPECT_NEAR(points[0].first, 0.001e6, 1) << "where its first span begins";
    for (size_t i = 1; i < points.size(); ++i) EXPECT_GT(points[i].first, points[i - 1].second);
}

TEST(Chrome, DrawsNoDamagedSpanAndNamesNoBatchWhereThereIsNone) {
    record::PointTrace trace = three_rank_trace();
    trace.ranks.resize(1);
    trace.ranks[0].timeline.spans = {{record::Stage::forward, 0, 1, 3},
                                     {record::Stage::scatter, 0, 5, 4},
                                     {record::Stage::exchange, -1, 1.5, 2}};  // ends before the first does
    auto results = results_of({three_rank_trace()});
    results.points[0].trace = trace;
    const Parsed drawn = exported("chrome", {results});
    int spans = 0;
    for (const auto& event : drawn["traceEvents"]) {
        if (event["ph"] != "X") continue;
        ++spans;
        EXPECT_GT(event["dur"], 0);
        if (event["tid"] == 0) {
            EXPECT_NEAR(event["dur"], 2e6, 1) << "from the first begin to the last end";
        }
        EXPECT_EQ(event.contains("args"), event["name"] != "exchange") << event.dump();
    }
    EXPECT_EQ(spans, 3);
}

TEST(Github, IsOneFileForEachDirection) {
    const Files files{results_of({three_rank_trace()})};
    std::map<std::string, Parsed> entries[2];
    for (const auto& entry : exported("github", files)) entries[0][entry["name"]] = entry;
    for (const auto& entry : exported("github-bigger", files)) entries[1][entry["name"]] = entry;
    const std::string label = kLabel;
    ASSERT_EQ(entries[0].count(label + ".pipeline_s"), 1u);
    ASSERT_EQ(entries[1].count(label + ".patches_per_s"), 1u);
    for (const auto& [name, entry] : entries[0]) EXPECT_EQ(entries[1].count(name), 0u) << name;
    const Parsed time = entries[0][label + ".pipeline_s"];
    EXPECT_EQ(time["value"], 2.25);
    EXPECT_EQ(time["unit"], "s");
    EXPECT_EQ(time["range"], "2 to 2.7");
    EXPECT_THAT(time["extra"].get<std::string>(), HasSubstr("repetitions: 6"));
    for (const auto& [name, entry] : entries[0]) EXPECT_EQ(entry.contains("range"), entry == time) << name;
    EXPECT_FALSE(exported("github", {results_of({short_trace()})})[0].contains("range")) << "too few repetitions";
}

TEST(Gbench, HasEveryRepetitionThenTheMedianWithAllMetrics) {
    const Parsed benchmarks = exported("gbench", {results_of({three_rank_trace()})})["benchmarks"];
    ASSERT_EQ(benchmarks.size(), kTraceRepetitions + 1);
    const double cpu_s = 0.8 * 2.3 + 0.9 * 1.3 + 0.95 * 1.3;
    EXPECT_EQ(benchmarks[0]["name"], kLabel);
    EXPECT_EQ(benchmarks[0]["run_type"], "iteration");
    EXPECT_NEAR(benchmarks[0]["real_time"], 2.3e6, 1);
    EXPECT_NEAR(benchmarks[0]["cpu_time"], cpu_s * 1e6, 1);
    EXPECT_EQ(benchmarks[0]["time_unit"], "us");
    EXPECT_EQ(benchmarks[0]["threads"], kTraceRanks);
    for (size_t i = 0; i < kTraceRepetitions; ++i) EXPECT_EQ(benchmarks[i]["repetition_index"], i);
    const Parsed& median = benchmarks.back();
    EXPECT_EQ(median["name"], std::string(kLabel) + "_median");
    EXPECT_EQ(median["aggregate_name"], "median");
    EXPECT_EQ(median["aggregate_unit"], "time");
    EXPECT_NEAR(median["real_time"], 2.25e6, 1);
    EXPECT_EQ(median["iterations"], kTraceRepetitions);
    std::vector<double> cpu_times;
    for (size_t i = 0; i < kTraceRepetitions; ++i) {
        EXPECT_EQ(benchmarks[i]["iterations"], 1);
        cpu_times.push_back(benchmarks[i]["cpu_time"]);
    }
    EXPECT_NEAR(median["cpu_time"], pb::median(cpu_times), 1);
    EXPECT_NEAR(median["patches_per_s"], 20 / 2.25, 1e-9);
    const measure::Summary summary = measure::summarise(three_rank_trace());
    for (const auto& metric : metrics())
        EXPECT_TRUE(metric.value(summary) || !median.contains(metric.key)) << metric.key;
}

TEST(Gbench, LeavesOutARepetitionOfWhichATimeIsNoNumber) {
    record::PointTrace trace = three_rank_trace();
    trace.ranks[1].cpu_s[2] = std::numeric_limits<double>::infinity();
    auto results = results_of({three_rank_trace()});
    results.points[0].trace = trace;
    const Parsed benchmarks = exported("gbench", {results})["benchmarks"];
    ASSERT_EQ(benchmarks.size(), kTraceRepetitions);
    for (const auto& one : benchmarks) EXPECT_TRUE(one["cpu_time"].is_number()) << one.dump();
}

TEST(Gbench, NamesTheHostOfTheFirstRank) {
    auto results = results_of({three_rank_trace()});
    results.sessions[0].environment.topology.ranks[0].host = "first";
    EXPECT_EQ(exported("gbench", {results})["context"]["host_name"], "first");
}

TEST(Gbench, CountsTheThreadsOfAllRanks) {
    auto results = results_of({three_rank_trace()});
    auto& places = results.sessions[0].environment.topology.ranks;
    for (size_t rank = 0; rank < places.size(); ++rank) places[rank].threads = 8 - static_cast<int>(rank);
    EXPECT_EQ(exported("gbench", {results})["context"]["num_cpus"], 8 + 7 + 6);
    EXPECT_EQ(exported("gbench", {results})["context"]["library_build_type"], "release");
    results.sessions[0].environment.build_type = "Debug";
    EXPECT_EQ(exported("gbench", {results})["context"]["library_build_type"], "debug");
}

TEST(Markdown, HasVerdictEnvironmentTableAndNotes) {
    auto results = mixed().front();
    results.end = RecordedEnd{{measure::Validity::invalid, {"1 of 3 points: not verified"}, ExitCode::ok}, ""};
    const std::string text = markdown_text(Files{results});
    EXPECT_THAT(text, StartsWith("RESULT: INVALID  1 of 3 points: not verified\n\n- patchbench 0.1.0 (git 0123abcd)"));
    EXPECT_THAT(
        text, AllOf(HasSubstr("torch 2.11.0, mpi Open MPI 4.1;"), HasSubstr("\n- 3 ranks on 1 host: 3 x cpu"),
                    HasSubstr("2.250 [2.000, 2.700]"), HasSubstr("| oom |"), HasSubstr("\n- " + std::string(kLabel))));
    std::istringstream lines(text);
    std::set<ptrdiff_t> bars;
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with('|')) bars.insert(std::count(line.begin(), line.end(), '|'));
    EXPECT_EQ(bars.size(), 1u) << text;
}

TEST(Markdown, SaysWhatThePointsShareWhatLimitsThemAndWhichOneToTake) {
    auto results = results_of({three_rank_trace()});
    EXPECT_THAT(markdown_text(Files{results}), Not(HasSubstr("the only verified point"))) << "it was cut short";
    results.end = RecordedEnd{{measure::Validity::valid, {}, ExitCode::ok}, ""};
    const std::string text = markdown_text(Files{results});
    EXPECT_THAT(text, AllOf(HasSubstr("\n\nimage: retina, \"left\".png 1000 x 1250 x 3 \\| noise: sigma 0.1 \\|"),
                            HasSubstr("\n- dncnn-fp32: " + std::string(kLabel) + ", the only verified point"),
                            HasSubstr("\n- compute-bound: " + std::string(kLabel) + " (the network takes 44.4 % "),
                            HasSubstr("; try: a lower precision")));
}

TEST(Markdown, EscapesWhatIsNotItsOwnAndNamesOnlyWhatIsKnown) {
    record::PointTrace trace = three_rank_trace();
    trace.point.notes = {"a <b> | c"};
    trace.point.settings.image.path = "<i>.png";
    auto results = results_of({trace});
    record::Environment& environment = results.sessions[0].environment;
    environment.compiler = "Clang <trunk>";
    environment.libraries.push_back({"cudnn", "", ""});
    environment.topology.ranks[0].device_name = "Xeon";
    environment.topology.ranks[1].device_name = "";
    results.sessions.push_back(results.sessions[0]);
    results.sessions[1].environment.started_at = "2026-01-02T00:00:00Z";
    const std::string text = markdown_text(Files{results});
    EXPECT_THAT(text, AllOf(HasSubstr("a &lt;b> \\| c"), HasSubstr("Clang &lt;trunk>"), Not(HasSubstr("cudnn")),
                            Not(HasSubstr("<i>")), HasSubstr("&lt;i>.png"),
                            HasSubstr("1 x cpu, 1 x cpu CPU, 1 x cpu Xeon"), HasSubstr("\n- resumed at 2026-01-02")));
}

TEST(Markdown, CountsHostsAndTellsModifiedSources) {
    auto results = results_of({three_rank_trace()});
    results.sessions[0].environment.topology.ranks[2].host = "another";
    results.sessions[0].environment.git_dirty = true;
    EXPECT_THAT(markdown_text(Files{results}),
                AllOf(HasSubstr("\n- 3 ranks on 2 hosts: 3 x cpu"), HasSubstr("(git 0123abcd, modified)")));
}

TEST(Markdown, SaysThatAStudyWasCutShortAndNamesSeveralFiles) {
    const Files files{results_of({three_rank_trace()}, "/runs/monday/results.jsonl"), results_of({}, "b.jsonl")};
    const std::string text = markdown_text(files);
    EXPECT_THAT(text, AllOf(StartsWith("### monday\n\nRESULT: UNFINISHED  "), HasSubstr("\n### b\n"),
                            HasSubstr("no points\n"), HasSubstr("\n- study: ")));
    EXPECT_THAT(markdown_text(Files{files[0]}), Not(HasSubstr("###")));
}

}  // namespace
}  // namespace pb::report
