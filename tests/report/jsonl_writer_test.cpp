#include "report/results/jsonl_writer.hpp"

#include "measure/every_figure.hpp"
#include "measure/sweep_traces.hpp"
#include "measure/telemetry_trace.hpp"
#include "measure/three_rank_trace.hpp"
#include "report/metrics.hpp"
#include "support/damage.hpp"
#include "support/file_size_limit.hpp"
#include "support/messages.hpp"
#include "support/study_points.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

namespace pb::report {
namespace {

using nlohmann::json;

class Jsonl : public testing::Test {
  protected:
    [[nodiscard]] std::vector<json> lines() const {
        std::vector<json> all;
        std::ifstream stream(file_);
        for (std::string line; std::getline(stream, line);) all.push_back(json::parse(line));
        return all;
    }

    /// Writes `trace` and reads its line back.
    [[nodiscard]] json point_line(const record::PointTrace& trace) const {
        JsonlWriter writer(file_, {}, {});
        writer.write_point(trace, measure::summarise(trace));
        return lines().at(1);
    }

    const test::TemporaryFolder folder_;
    const std::filesystem::path file_ = folder_ / "results.jsonl";
};

TEST_F(Jsonl, ALineIsThereAsSoonAsItIsWritten) {
    JsonlWriter writer(file_, {}, {});
    EXPECT_EQ(lines().size(), 1u);
    writer.write_point(three_rank_trace(), measure::summarise(three_rank_trace()));
    EXPECT_EQ(lines().size(), 2u);
    writer.write_end({});
    ASSERT_EQ(lines().size(), 3u);
    EXPECT_EQ(lines()[0]["type"], "study");
    EXPECT_EQ(lines()[0]["schema_version"], "1.0");
    EXPECT_EQ(lines()[1]["type"], "point");
    EXPECT_EQ(lines()[2]["type"], "end");
    EXPECT_EQ(lines()[2]["verdict"], "VALID");
}

TEST_F(Jsonl, WhatPointsSayTogetherIsALineOfItsOwn) {
    std::vector<record::PointTrace> traces = batch_sweep();
    traces.push_back(searched_point());
    std::vector<measure::Summary> summaries;
    summaries.reserve(traces.size());
    for (const auto& trace : traces) summaries.push_back(measure::summarise(trace));
    JsonlWriter writer(file_, {}, {});
    writer.write_study_summary({});
    EXPECT_EQ(lines().size(), 1U) << "nothing to say, no line";
    writer.write_study_summary(
        measure::summarise_study(measure::study_points(traces, summaries), plan::make_local_topology(1)));
    const json line = lines().at(1);
    EXPECT_EQ(line["type"], "study_summary");
    const json& times = line["batch_times"][1];
    EXPECT_EQ(times["scope"], "pipeline");
    EXPECT_EQ(times["samples"][2]["batch"], 4);
    EXPECT_EQ(times["samples"][2]["window_s"], 1.0);
    EXPECT_EQ(times["fastest_batch"], 4);
    EXPECT_EQ(times["sufficient_batch"], 4);
    EXPECT_EQ(line["recommendations"][0]["points"], json({4, 1, 2}));
    EXPECT_TRUE(line["recommendations"][0]["point"].is_null()) << "no seams were compared";
    traces.front().verification.seam_error = 0;
    writer.write_study_summary(measure::summarise_study(
        measure::study_points(traces, {measure::summarise(traces[0]), summaries[1], summaries[2], summaries[3]}),
        plan::make_local_topology(1)));
    EXPECT_EQ(lines().at(2)["recommendations"][0]["point"], 4);
    EXPECT_TRUE(times["left_arm"].is_null()) << "three batches fix no curve of three parameters";
    EXPECT_NEAR(line["batch_memory"][0]["fit"]["base_mib"].get<double>(), 100, 1e-9);
    EXPECT_EQ(line["largest_batches"][0]["search"]["largest_batch"], 4);
    EXPECT_EQ(line["largest_batches"][0]["predicted_batch"], 20);
    EXPECT_TRUE(line["largest_batches"][0]["search"]["tries"][3]["peak_mib"].is_null());
}

TEST_F(Jsonl, SettingsKeepTheirTypesAndNesting) {
    record::PointTrace trace = three_rank_trace();
    const json point = point_line(trace)["point"];
    EXPECT_EQ(point["network"], "dncnn");
    EXPECT_TRUE(point["patch"].is_number_integer());
    EXPECT_EQ(point["halo"], "exact");
    EXPECT_EQ(point["batch"], 4);
    EXPECT_EQ(point["ranks"], "all");
    EXPECT_EQ(point["overlap"], true);
    EXPECT_EQ(point["image"]["noise_sigma"], 0.1);
    EXPECT_EQ(point["settled"]["halo_px"], 20);
    EXPECT_EQ(point["settled"]["fused"], false);
    EXPECT_EQ(point["verify"]["mode"], "probes");
    EXPECT_TRUE(lines()[0]["config"]["metrics"]["reduction"].is_string());
    trace.point.settings.halo = {config::HaloSetting::Kind::pixels, 0};
    trace.point.halo.reset();
    const json other = point_line(trace)["point"];
    EXPECT_EQ(other["halo"], 0);
    EXPECT_TRUE(other["settled"]["halo_px"].is_null());
    trace.point.device = DeviceKind::cuda;
    trace.point.settings.fusion = FusionKind::on;
    EXPECT_EQ(point_line(trace)["point"]["settled"]["fused"], true);
}

TEST_F(Jsonl, SamplesAreThoseOfTheTraceBitForBit) {
    record::PointTrace trace = three_rank_trace();
    trace.ranks[2].wall_s[1] = 1.0 / 3;
    const json samples = point_line(trace)["samples"];
    EXPECT_EQ(samples["wall_s"].get<std::vector<double>>(), trace.wall_s);
    ASSERT_EQ(samples["ranks"].size(), trace.ranks.size());
    for (size_t r = 0; r < trace.ranks.size(); ++r) {
        EXPECT_EQ(samples["ranks"][r]["wall_s"].get<std::vector<double>>(), trace.ranks[r].wall_s);
        EXPECT_EQ(samples["ranks"][r]["forward_call_s"].get<std::vector<double>>(), trace.ranks[r].forward_call_s);
        EXPECT_EQ(samples["ranks"][r]["stage_s"]["gather"].size(), kTraceRepetitions);
        EXPECT_FALSE(samples["ranks"][r]["stage_s"].contains("h2d")) << "it did not take place";
    }
    EXPECT_TRUE(samples["write_s"].is_null()) << "no file was written";
}

TEST_F(Jsonl, SummaryHoldsEveryMetric) {
    const json summary = point_line(trace_of_every_figure())["summary"];
    for (const auto& [key, value] : every_figure()) {
        ASSERT_TRUE(summary.contains(key) && summary[key].is_number()) << key;
        EXPECT_NEAR(summary[key].get<double>(), value, 1e-12 * std::abs(value)) << key;
    }
}

TEST_F(Jsonl, AbsentIsNullNeverZero) {
    const json line = point_line(unmeasured_trace(record::PointStatus::oom, "no room"));
    EXPECT_EQ(line["status"], "oom");
    EXPECT_EQ(line["reason"], "no room");
    EXPECT_TRUE(line["summary"]["pipeline_s"].is_null());
    EXPECT_TRUE(line["quality"].is_null());
    EXPECT_TRUE(line["verification"]["pixels_unwritten"].is_null()) << "nobody looked";
    EXPECT_TRUE(line["image_sha256"].is_null());
    const json memory = point_line(three_rank_trace())["memory"]["ranks"][0];
    EXPECT_TRUE(memory["device_used_mib"].is_null());
    EXPECT_EQ(memory["host_peak_mib"], 1000);
}

TEST_F(Jsonl, TelemetryIsThatOfEachRankAndNullWithoutAny) {
    EXPECT_TRUE(point_line(three_rank_trace())["telemetry"].is_null());
    const json ranks = point_line(watched_trace())["telemetry"]["ranks"];
    ASSERT_EQ(ranks.size(), 3U);
    EXPECT_EQ(ranks[1]["rank"], 1);
    EXPECT_EQ(ranks[1]["energy_j"], 1200);
    EXPECT_TRUE(ranks[1]["cpu_energy_j"].is_null()) << "the first rank of its node answers";
    EXPECT_EQ(ranks[1]["samples"]["at_s"], json({0, 0.1, 0.2}));
    EXPECT_EQ(ranks[1]["samples"]["sm_clock_mhz"], json({1800, 1850, 1900}));
    EXPECT_TRUE(ranks[1]["samples"]["power_w"].is_null()) << "never read";
    record::PointTrace gap = watched_trace();
    gap.ranks[1].telemetry.samples[1][Gauge::sm_clock_mhz].reset();
    EXPECT_EQ(point_line(gap)["telemetry"]["ranks"][1]["samples"]["sm_clock_mhz"], json({1800, nullptr, 1900}));
}

TEST_F(Jsonl, NotANumberAndInfinityAreNull) {
    record::PointTrace trace = three_rank_trace();
    trace.quality->psnr_denoised_db = std::numeric_limits<double>::infinity();
    trace.verification.window_error = std::numeric_limits<double>::quiet_NaN();
    const json line = point_line(trace);
    EXPECT_TRUE(line["quality"]["psnr_denoised_db"].is_null());
    EXPECT_TRUE(line["summary"]["psnr_denoised_db"].is_null());
    EXPECT_TRUE(line["verification"]["window_error"].is_null());
}

TEST_F(Jsonl, AnyFileNameAndMessageMakesOneValidLine) {
    const json line = point_line(unmeasured_trace(record::PointStatus::failed, "two\nlines, \xff\xfe and \"quotes\""));
    EXPECT_THAT(line["reason"].get<std::string>(), testing::HasSubstr("two\nlines"));
}

TEST_F(Jsonl, EarlierResultsAreMovedAsideAndKept) {
    EXPECT_EQ(move_aside(file_), "") << "there is none";
    std::ofstream(file_) << "";
    EXPECT_EQ(move_aside(file_), "") << "nothing is in it";
    std::ofstream(file_) << "earlier";
    const auto earlier = move_aside(file_);
    EXPECT_FALSE(std::filesystem::exists(file_));
    std::ofstream(file_) << "later";
    const auto later = move_aside(file_);
    EXPECT_EQ(test::read_bytes(earlier / file_.filename()), "earlier");
    EXPECT_EQ(test::read_bytes(later / file_.filename()), "later") << "in the same second";
    EXPECT_EQ(earlier.parent_path(), file_.parent_path());
}

TEST_F(Jsonl, WhatEarlierResultsNameIsKeptWithThem) {
    for (const char* name : {"000-a.png", "001-input.png", "study.yaml", "report.html", "previews/0-noisy.png",
                             "12-mine.png", "2024mine.png", "-mine.png"})
        folder_.write(name, name);
    std::string lines = "no line of JSON\n";
    for (const char* name : {"/elsewhere/000-a.png", "001-input.png", "study.yaml", "12-mine.png", "2024mine.png",
                             "-mine.png", "..", "results.jsonl", ""})
        lines += json{{"output_file", name}}.dump() + "\n";
    folder_.write("results.jsonl", lines);
    constexpr std::array kMade{"report.html", "previews", "never_written.csv"};
    const auto aside = move_aside(file_, kMade, {folder_ / "001-input.png"});
    for (const char* name : {"results.jsonl", "000-a.png", "report.html", "previews/0-noisy.png"}) {
        EXPECT_TRUE(std::filesystem::exists(aside / name)) << name;
        EXPECT_FALSE(std::filesystem::exists(folder_ / name)) << name;
    }
    EXPECT_TRUE(std::filesystem::exists(folder_ / "001-input.png")) << "a later study reads it";
    for (const char* name : {"study.yaml", "12-mine.png", "2024mine.png", "-mine.png"})
        EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << name << " is no image of a study";
}

TEST_F(Jsonl, PicturesAmongWhichALaterStudyReadsStay) {
    for (const char* name : {"results.jsonl", "report.html", "previews/0-noisy.png"}) folder_.write(name, name);
    constexpr std::array kMade{"report.html", "previews"};
    const auto aside = move_aside(file_, kMade, {folder_ / "previews/0-noisy.png"});
    EXPECT_TRUE(std::filesystem::exists(aside / "report.html"));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "previews/0-noisy.png"));
}

TEST_F(Jsonl, CannotBeCreatedIsAUsageErrorThatNamesTheFile) {
    EXPECT_THAT(usage_error([&] { JsonlWriter(file_ / "no" / "results.jsonl", {}, {}); }),
                testing::HasSubstr("no/results.jsonl"));
}

TEST_F(Jsonl, NoLineGoesIntoAFileThatAnotherReplaced) {
    JsonlWriter writer(file_, {}, {});
    std::filesystem::rename(file_, folder_ / "aside.jsonl");
    std::ofstream{file_};
    EXPECT_THAT(error_of<Error>([&] { writer.write_end({}); }), testing::HasSubstr(file_.string()));
}

// A file-size limit simulates a full disk: write() takes a part of the line, then fails.
TEST_F(Jsonl, AFullDiskIsNamedAndKeepsTheLinesBefore) {
    JsonlWriter writer(file_, {}, {});
    const std::string message = error_of<Error>([&] {
        const test::FileSizeLimit limit(std::filesystem::file_size(file_) + 100);
        writer.write_point(three_rank_trace(), measure::summarise(three_rank_trace()));
    });
    EXPECT_THAT(message, testing::HasSubstr(file_.string()));
    EXPECT_EQ(lines().size(), 1u);
    writer.write_end({});
    EXPECT_EQ(lines().size(), 2u);
    std::filesystem::remove(file_);
    {
        const test::FileSizeLimit limit(100);
        EXPECT_THROW(JsonlWriter(file_, {}, {}), Error);
    }
    EXPECT_EQ(std::filesystem::file_size(file_), 0U) << "no half of its first line";
}

}  // namespace
}  // namespace pb::report
