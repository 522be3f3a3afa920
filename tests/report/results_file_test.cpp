#include "report/results/results_file.hpp"

#include "measure/telemetry_trace.hpp"
#include "network/graph_text.hpp"
#include "record/json.hpp"
#include "report/metrics.hpp"
#include "report/results/jsonl_writer.hpp"
#include "report/tables/tables.hpp"
#include "support/damage.hpp"
#include "support/messages.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace pb::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

record::Environment environment() {
    record::Environment environment;
    environment.started_at = "2026-01-01T00:00:00Z";
    environment.command_line = "patchbench run study.yaml";
    environment.git_sha = "0123abcd";
    environment.git_dirty = true;
    environment.libraries = {{"NCCL", "2.28.9", ""}};
    environment.variables = {{"OMP_NUM_THREADS", "1"}};
    environment.topology = plan::make_local_topology(kTraceRanks);
    environment.topology.ranks[1].memory_bytes = int64_t{3} << 30;
    return environment;
}

class Results : public testing::Test {
  protected:
    void SetUp() override {
        JsonlWriter writer(file_, {.name = "night"}, environment());
        const measure::Summary summary = measure::summarise(watched_trace());
        writer.write_point(watched_trace(), summary);
        record::PointTrace other = unmeasured_trace(record::PointStatus::oom, "no room");
        other.point.index = 1;
        writer.write_point(other, measure::summarise(other));
        writer.write_end(measure::judge({summary}, false));
    }

    [[nodiscard]] std::string text() const { return test::read_bytes(file_); }
    void put(const std::string& text) const { std::ofstream(file_) << text; }

    /// Returns the reader's error message for `text`.
    [[nodiscard]] std::string refusal(const std::string& text) const {
        put(text);
        return usage_error([&] { (void)load_results(file_); });
    }

    [[nodiscard]] std::string replaced(const std::string& before, const std::string& after) const {
        std::string all = text();
        const auto at = all.find(before);
        EXPECT_NE(at, std::string::npos) << before;
        return at == std::string::npos ? all : all.replace(at, before.size(), after);
    }

    const test::TemporaryFolder folder_;
    const std::filesystem::path file_ = folder_ / "results.jsonl";
};

TEST_F(Results, WhatWasWrittenIsReadBack) {
    const ResultsFile results = load_results(file_);
    EXPECT_EQ(results.name, "night");
    ASSERT_EQ(results.points.size(), 2u);
    const RecordedPoint& point = results.points[0];
    EXPECT_EQ(point.trace.wall_s, watched_trace().wall_s);
    EXPECT_EQ(point.line, 2);
    EXPECT_EQ(point.trace.point.settings.image.path, traced_point().settings.image.path);
    EXPECT_EQ(point.trace.point.halo, 20);
    EXPECT_EQ(results.points[1].summary.status, record::PointStatus::oom);
    ASSERT_TRUE(results.end);
    EXPECT_EQ(results.end->verdict.validity, measure::Validity::valid);
    EXPECT_TRUE(results.remarks().empty());
    EXPECT_EQ(point.json + "\n", text().substr(text().find('\n') + 1, point.json.size() + 1));
}

TEST_F(Results, WhatWasSimulatedIsNoMeasurementAfterwards) {
    record::PointTrace trace = watched_trace();
    trace.point.settings.engine = EngineKind::timed;
    {
        JsonlWriter writer(file_, {.name = "night"}, environment());
        writer.write_point(trace, measure::summarise(trace));
    }
    EXPECT_TRUE(load_results(file_).points.at(0).summary.simulated);
}

TEST_F(Results, TheLevelOfANetworkThatKnowsNoneIsThatOfItsImage) {
    record::PointTrace trace = watched_trace();
    trace.point.uses_sigma = false;
    trace.point.settings.image.noise_sigma = trace.point.sigma = 0.125;
    {
        JsonlWriter writer(file_, {.name = "night"}, environment());
        writer.write_point(trace, measure::summarise(trace));
    }
    EXPECT_EQ(load_results(file_).points.at(0).trace.point.sigma, 0.125) << "as the plan has it";
}

TEST_F(Results, TheShapeOfARelativeIsReadBack) {
    EXPECT_EQ(text().find("widths"), std::string::npos) << "standard networks need none";
    record::PointTrace trace = watched_trace();
    trace.point.settings.network = network::kind_of<network::DrunetShape>();
    trace.point.relative =
        network::DrunetShape{.channels = trace.point.source.channels, .widths = {8, 16}, .blocks = 2};
    {
        JsonlWriter writer(file_, {.name = "night"}, environment());
        writer.write_point(trace, measure::summarise(trace));
        writer.write_end(measure::judge({measure::summarise(trace)}, false));
    }
    const ResultsFile results = load_results(file_);
    EXPECT_EQ(results.points.at(0).trace.point.relative, trace.point.relative);
    EXPECT_EQ(results.points.at(0).trace.point.facts().alignment, 2);
    EXPECT_THAT(refusal(replaced("widths 8-16, 2 blocks", "widths 8-0, 2 blocks")),
                AllOf(HasSubstr(":2: "), HasSubstr("network"), HasSubstr("widths 8-0")));
}

TEST_F(Results, TheLayersOfACustomNetworkAreReadBack) {
    record::PointTrace trace = watched_trace();
    const network::DncnnShape shape{.channels = trace.point.source.channels, .depth = 3};
    const network::Graph graph = network::parse_graph(network::line_of(shape.graph()));  // without gains
    trace.point.settings.network = network::kCustomKind;
    trace.point.settings.network.file = "own.onnx";
    trace.point.settings.network.card = network::NetworkCard{.radius = 3, .halo = 3, .layers = graph};
    {
        JsonlWriter writer(file_, {.name = "night"}, environment());
        writer.write_point(trace, measure::summarise(trace));
        writer.write_end(measure::judge({measure::summarise(trace)}, false));
    }
    const ResultsFile results = load_results(file_);
    EXPECT_EQ(results.points.at(0).trace.point.settings.network.card, trace.point.settings.network.card);
    EXPECT_EQ(results.points.at(0).trace.point.facts().num_convolutions, 3);
    EXPECT_THAT(refusal(replaced("; relu 1;", "; relu 9;")), AllOf(HasSubstr(":2: "), HasSubstr("layers")));
}

// Tables, FOM lines and verdict of a resumed study use the values that are read back, so none may be lost.
TEST_F(Results, EveryFigureOfTheSummarySurvives) {
    const measure::Summary written = measure::summarise(watched_trace());
    const auto results = load_results(file_);
    const measure::Summary& read = results.points[0].summary;
    for (const auto& metric : metrics()) EXPECT_EQ(metric.value(read), metric.value(written)) << metric.key;
    EXPECT_EQ(read.key, written.key);
    const auto topology = plan::make_local_topology(kTraceRanks);
    EXPECT_EQ(points_table({read}), points_table({written}));
    EXPECT_EQ(ranks_table(read, topology), ranks_table(written, topology));
    EXPECT_EQ(fom_lines({read}), fom_lines({written}));
    EXPECT_EQ(verdict_line(measure::judge({read}, true)), verdict_line(measure::judge({written}, true)));
    const auto oom = measure::summarise(unmeasured_trace(record::PointStatus::oom, "no room"));
    EXPECT_EQ(points_table({results.points[1].summary}), points_table({oom}));
}

// Fails when a new member of the trace is written but not read back.
TEST_F(Results, ATraceReadBackIsWrittenAsTheSameLine) {
    const auto results = load_results(file_);
    const std::string before = text();
    std::vector<record::PointTrace> traces;
    for (const auto& point : results.points) traces.push_back(point.trace);
    JsonlWriter writer(file_, {.name = "night"}, environment());
    for (const auto& trace : traces) writer.write_point(trace, measure::summarise(trace));
    EXPECT_EQ(text(), before.substr(0, text().size()));
    EXPECT_GT(text().size(), results.points[0].json.size() + results.points[1].json.size());
}

TEST_F(Results, TheSummaryHoldsTheMetricsThatHaveAValue) {
    const auto results = load_results(file_);
    const measure::Summary written = measure::summarise(watched_trace());
    for (const auto& metric : metrics()) {
        EXPECT_EQ(metric.value(results.points[0].summary).has_value(), metric.value(written).has_value()) << metric.key;
        EXPECT_EQ(metric.value(results.points[1].summary).has_value(), std::string(metric.key) == "repetitions");
    }
}

TEST_F(Results, EnvironmentIsReadBack) {
    const auto results = load_results(file_);
    const record::Environment& read = results.environment();
    EXPECT_EQ(read.git_sha, "0123abcd");
    EXPECT_TRUE(read.git_dirty);
    ASSERT_EQ(read.libraries.size(), 1u);
    EXPECT_EQ(read.libraries[0].header, "2.28.9");
    EXPECT_EQ(read.variables, environment().variables);
    ASSERT_EQ(read.topology.num_ranks(), kTraceRanks);
    EXPECT_EQ(read.topology.ranks[1].memory_bytes, int64_t{3} << 30);
}

TEST_F(Results, ALineCutAnywhereIsToleratedAtTheEndOnly) {
    const std::string whole = text();
    const size_t last = whole.rfind('\n', whole.size() - 2) + 1;  // start of the last line
    for (size_t length = last + 1; length + 1 < whole.size(); ++length) {
        put(whole.substr(0, length));
        const auto results = load_results(file_);
        ASSERT_EQ(results.points.size(), 2u);
        EXPECT_FALSE(results.end);
        EXPECT_EQ(results.torn, whole.substr(last, length - last));
        ASSERT_EQ(results.remarks().size(), 2u);
    }
    put(whole.substr(0, whole.size() - 1));
    EXPECT_TRUE(load_results(file_).end) << "a complete line whose end an editor took";
}

TEST_F(Results, ARankWithoutASampleOfEachRepetitionIsRefused) {
    std::istringstream lines(text());
    std::string study, point;
    std::getline(std::getline(lines, study), point);
    record::Json line = record::Json::parse(point);
    auto& rank = line["samples"]["ranks"][1];
    rank["wall_s"].erase(0);
    for (auto& stage : rank["stage_s"]) stage.erase(0);
    EXPECT_THAT(refusal(study + "\n" + line.dump() + "\n"),
                AllOf(HasSubstr(":2: samples: rank 1 "), HasSubstr("repetitions")));
    for (int more = 0; more < 2; ++more) {
        rank["wall_s"].push_back(1);
        for (auto& stage : rank["stage_s"]) stage.push_back(1);
    }
    EXPECT_THAT(refusal(study + "\n" + line.dump() + "\n"), HasSubstr(":2: samples: rank 1 ")) << "one too many";
}

TEST_F(Results, DamageInTheMiddleIsAnErrorWithItsPlace) {
    const std::string where = file_.string() + ":2: ";
    EXPECT_THAT(refusal(replaced("\"label\":", "\"label\"")), HasSubstr(where));
    TearDown(), SetUp();
    EXPECT_THAT(refusal(replaced("\"label\":", "\"lable\":")), AllOf(HasSubstr(where), HasSubstr("'label'")));
    TearDown(), SetUp();
    EXPECT_THAT(refusal(replaced("\"status\":\"ok\"", "\"status\":\"fine\"")), HasSubstr(where + "status: 'fine'"));
    TearDown(), SetUp();
    EXPECT_THAT(refusal(replaced("\"wall_s\":[", "\"wall_s\":[true,")), HasSubstr("samples.wall_s"));
    TearDown(), SetUp();
    EXPECT_THAT(refusal(replaced("\"patch\":256", "\"patch\":[1]")), HasSubstr(where + "point.patch"));
    TearDown(), SetUp();
    EXPECT_THAT(refusal(replaced("\"patch\":256", "\"patch\":-3")), HasSubstr(where + "point.patch: patch = -3"));
    TearDown(), SetUp();
    EXPECT_THAT(refusal(replaced("\"reasons\":[]", "\"reasons\":{}")), HasSubstr("reasons"));
}

TEST_F(Results, WhatNoRunCanSettleIsAnErrorWithItsPlace) {
    for (const auto& [there, impossible] : std::vector<std::pair<std::string, std::string>>{
             {"\"halo_px\":20", "\"halo_px\":-8"},
             {"\"exchanges_rows\":false,\"batch\":4", "\"exchanges_rows\":false,\"batch\":0"},
             {"\"num_ranks\":3", "\"num_ranks\":0"},
             {"\"image_height_px\":", "\"image_height_px\":0,\"was\":"},
             {"\"image_channels\":", "\"image_channels\":-"}}) {
        EXPECT_THAT(refusal(replaced(there, impossible)), HasSubstr(":2: point.settled")) << impossible;
        TearDown(), SetUp();
    }
}

TEST_F(Results, DrawingsThatDoNotFitTogetherAreErrorsWithTheirPlace) {
    EXPECT_THAT(refusal(replaced("\"begin_s\":[", "\"begin_s\":[0,")), HasSubstr("timeline: "));
    TearDown(), SetUp();
    EXPECT_THAT(refusal(replaced("\"stage\":[\"gather\"", "\"stage\":[\"lunch\"")), HasSubstr("'lunch'"));
    TearDown(), SetUp();
    EXPECT_THAT(refusal(replaced("\"cell_px\":8", "\"cell_px\":2")), HasSubstr("seam_map[0]: "));
    TearDown(), SetUp();
    EXPECT_THAT(refusal(replaced("\"cell_px\":8", "\"cell_px\":0")), HasSubstr("seam_map[0]"));
    TearDown(), SetUp();
    EXPECT_THAT(refusal(replaced("\"height\":4,", "\"height\":9223372036854775807,")), HasSubstr(":2: "));
}

TEST_F(Results, AnExitCodeThatPatchbenchDoesNotHaveIsRefused) {
    put(replaced("\"exit_code\":0", "\"exit_code\":5"));
    EXPECT_EQ(load_results(file_).end.value().verdict.exit_code, ExitCode::partial);
    EXPECT_THAT(refusal(replaced("\"exit_code\":5", "\"exit_code\":6")), HasSubstr(":4: exit_code: "));
}

TEST_F(Results, APointThatStandsTwiceIsRefused) {
    const std::string whole = text();
    const size_t second = whole.find('\n') + 1;
    const size_t third = whole.find('\n', second) + 1;
    EXPECT_THAT(refusal(whole.substr(0, third) + whole.substr(second)),
                AllOf(HasSubstr(":3: "), HasSubstr("index"), HasSubstr("line 2")));
}

TEST_F(Results, APointBelongsToTheSessionThatItFollows) {
    const std::string whole = text();
    const size_t second = whole.find('\n') + 1;
    const size_t third = whole.find('\n', second) + 1;
    record::Environment elsewhere = environment();
    elsewhere.topology.ranks[0].host = "elsewhere";
    put(whole.substr(0, third) + resume_line(elsewhere) + "\n" + whole.substr(third));
    const ResultsFile results = load_results(file_);
    ASSERT_EQ(results.points.size(), 2u);
    EXPECT_EQ(results.points[0].session, 0);
    EXPECT_EQ(results.points[1].session, 1);
}

TEST_F(Results, LongLinesAreReadWhole) {
    const std::string longer(200'000, 'x');  // several times the size of a read
    put(longer + "\n" + "short\n" + longer + "y");
    LineReader lines(file_);
    EXPECT_EQ(lines.next()->text, longer);
    EXPECT_EQ(lines.next()->text, "short");
    const auto last = lines.next();
    EXPECT_EQ(last->text, longer + "y");
    EXPECT_EQ(last->number, 3);
    EXPECT_FALSE(last->ended);
    EXPECT_FALSE(lines.next());
}

TEST_F(Results, HostileLinesAreRefusedNotMet) {
    const std::string study = text().substr(0, text().find('\n') + 1);
    const std::string deep(1000000, '[');
    EXPECT_THAT(refusal(study + deep + "\n"), AllOf(HasSubstr(":2: "), HasSubstr("deep")));
    EXPECT_THAT(refusal(study + deep.substr(0, 65) + std::string(65, ']') + "\n"),
                AllOf(HasSubstr(":2: "), HasSubstr("deep")));
    EXPECT_THAT(refusal(study + deep.substr(0, 64) + std::string(64, ']') + "\n"),
                AllOf(HasSubstr(":2: "), Not(HasSubstr("deep"))));
    EXPECT_THAT(refusal(study + "{\"type\":1e999}\n"), HasSubstr(":2: "));
    EXPECT_THAT(refusal(study + "[]\n"), HasSubstr(":2: "));
    EXPECT_THAT(refusal(study + "{\"type\":\"point\"}\n"), HasSubstr(":2: "));
    EXPECT_THAT(refusal(study + std::string(10, '\0') + "\n"), HasSubstr(":2: "));
    EXPECT_THAT(refusal(study + study), HasSubstr(":2: "));
    EXPECT_THAT(refusal("{\"type\":\"end\"}\n"), HasSubstr(":1: "));
    EXPECT_THAT(refusal("{\"type\":\"study\",\"schema_version\":\"2.0\"}\n"),
                AllOf(HasSubstr(":1: schema 2.0"), Not(HasSubstr("damaged"))));
    EXPECT_THAT(refusal(""), HasSubstr(file_.string()));
    EXPECT_THAT(refusal("hello"), HasSubstr(file_.string()));
}

TEST_F(Results, BracketsInATextAreNotDepth) {
    const record::PointTrace trace = unmeasured_trace(record::PointStatus::failed, "\"" + std::string(65, '['));
    {
        JsonlWriter writer(file_, {.name = "night"}, environment());
        writer.write_point(trace, measure::summarise(trace));
    }
    EXPECT_EQ(load_results(file_).points.at(0).trace.reason, trace.reason);
}

TEST_F(Results, BlankLinesAreNothing) {
    const std::string whole = text();
    const size_t second = whole.find('\n') + 1;
    put(whole.substr(0, second) + " \t\r\n" + whole.substr(second) + "\r\n");
    EXPECT_EQ(load_results(file_).points.size(), 2U);
    EXPECT_TRUE(load_results(file_).end);
}

TEST_F(Results, NoTextSteersATerminal) {
    put(replaced("\"label\":\"", "\"label\":\"\\u001b[31m"));
    EXPECT_THAT(load_results(file_).points.front().summary.label, testing::StartsWith("?[31m"));
}

TEST_F(Results, NothingMayFollowTheEnd) { EXPECT_THAT(refusal(text() + "{\"type\":\"point\"}\n"), HasSubstr(":5: ")); }

// Random damage must give either a value or an error with its place, never a crash.
TEST_F(Results, RandomDamageIsReadOrRefused) {
    const std::string whole = text();
    int refused = 0;
    test::for_each_damage(whole, 300, [&](const std::string& damaged) {
        const std::string said = refusal(damaged);
        if (said == kNotThrown) return;
        EXPECT_THAT(said, HasSubstr(file_.string()));
        ++refused;
    });
    EXPECT_GT(refused, 100);
}

TEST_F(Results, WhatCannotBeReadIsNamed) {
    EXPECT_THROW((void)load_results(file_ / "no"), UsageError);
    EXPECT_THROW((void)load_results(folder_.path()), UsageError);
}

TEST(Launches, AreThoseThatAreThereInTheOrderOfTheirNumbers) {
    const test::TemporaryFolder home;
    const std::filesystem::path folder = home / "results";
    for (const char* name :
         {"launch-1", "launch-10", "launch-3", "launch-", "launch-x", "launch-04", "launch-0", "more"})
        std::filesystem::create_directories(folder / name);
    const auto in = [&](const char* name) { return folder / name / kResultsName; };
    EXPECT_THAT(launches_in(folder), testing::ElementsAre(in("launch-1"), in("launch-3"), in("launch-10")));
    EXPECT_EQ(launch_number(launch_folder(folder, 12)), 12);
    std::filesystem::remove_all(folder);
    EXPECT_THAT(launches_in(folder), testing::ElementsAre(folder)) << "no folder";
}

}  // namespace
}  // namespace pb::report
