#include "base/statistics.hpp"
#include "measure/three_rank_trace.hpp"
#include "report/export/exports.hpp"
#include "report/metrics.hpp"
#include "results_of.hpp"
#include "support/damage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace pb::report {
namespace {

using Record = std::vector<std::string>;

/// Reads CSV as RFC 4180 defines it.
std::vector<Record> read_csv(const std::string& text) {
    std::vector<Record> records;
    Record record;
    std::string field;
    bool inside = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') {
            const bool doubled = inside && i + 1 < text.size() && text[i + 1] == '"';
            if (doubled) field += text[++i];
            if (!doubled) inside = !inside;
        } else if (!inside && (c == ',' || c == '\n')) {
            record.push_back(std::move(field));
            field.clear();
            if (c == '\n') records.push_back(std::move(record));
            if (c == '\n') record.clear();
        } else {
            field += c;
        }
    }
    return records;
}

std::map<std::string, std::string> row(const std::vector<Record>& records, size_t index) {
    std::map<std::string, std::string> cells;
    for (size_t c = 0; c < records[0].size(); ++c) cells[records[0][c]] = records[index + 1].at(c);
    return cells;
}

std::vector<Record> written(const std::vector<record::PointTrace>& traces, CsvStyle style = CsvStyle::tidy) {
    return read_csv(csv_text(std::vector{results_of(traces)}, style));
}

TEST(Csv, IsATableOfEqualRowsWithUniqueColumns) {
    const auto records =
        written({three_rank_trace(), unmeasured_trace(record::PointStatus::failed, "line\nbreak, \"quoted\"")});
    ASSERT_EQ(records.size(), 3u);
    for (const auto& record : records) EXPECT_EQ(record.size(), records[0].size());
    EXPECT_EQ(std::set<std::string>(records[0].begin(), records[0].end()).size(), records[0].size());
}

TEST(Csv, HoldsEverySettingAndEveryMetricInFullPrecision) {
    record::PointTrace trace = three_rank_trace();
    trace.wall_s.assign(kTraceRepetitions, 1.0 / 3);
    const auto cells = row(written({trace}), 0);
    EXPECT_EQ(cells.at("patch_px"), "256");
    EXPECT_EQ(cells.at("memory_limit_mib"), "0");
    EXPECT_EQ(cells.at("image.path"), "photos/retina, \"left\".png");
    EXPECT_EQ(cells.at("settled.halo_px"), "20");
    EXPECT_EQ(cells.at("settled.image_height_px"), "1000");
    EXPECT_EQ(cells.at("settled.image_width_px"), "1250");
    EXPECT_EQ(cells.at("settled.image_channels"), "3");
    EXPECT_EQ(cells.at("slowest_rank"), "0");
    EXPECT_EQ(cells.at("allocated_peak_rank"), "1");
    for (const auto& metric : metrics()) EXPECT_EQ(cells.count(metric.key), 1u) << metric.key;
    EXPECT_EQ(std::stod(cells.at("pipeline_s")), 1.0 / 3);
}

TEST(Csv, NamesEachFileByItsOwnDigest) {
    record::PointTrace trace = three_rank_trace();
    trace.weights_sha256 = "5678";
    trace.image_sha256 = "abcd";
    const auto cells = row(written({trace}), 0);
    EXPECT_EQ(cells.at("weights_sha256"), "5678");
    EXPECT_EQ(cells.at("image_sha256"), "abcd");
}

TEST(Csv, ANoiseLevelThatIsLeftToTheImageIsAutoNotANumber) {
    const auto cells = row(written({three_rank_trace()}), 0);
    EXPECT_EQ(cells.at("sigma"), "auto");
    EXPECT_EQ(cells.at("settled.sigma"), "0.1");
    record::PointTrace without = three_rank_trace();
    without.point.uses_sigma = false;
    EXPECT_EQ(row(written({without}), 0).at("settled.sigma"), "") << "its network knows no level";
}

TEST(Csv, WhatIsAbsentIsEmptyNeverZero) {
    const auto cells = row(written({unmeasured_trace(record::PointStatus::oom, "no room")}), 0);
    EXPECT_EQ(cells.at("pipeline_s"), "");
    EXPECT_EQ(cells.at("psnr_denoised_db"), "");
    EXPECT_EQ(cells.at("slowest_rank"), "");
    EXPECT_EQ(cells.at("status"), "oom");
    EXPECT_THAT(cells.at("reasons"), testing::HasSubstr("no room"));
}

TEST(Csv, WhatIsNoNumberIsEmpty) {
    EXPECT_EQ(number_cell(std::nullopt), "");
    EXPECT_EQ(number_cell(std::numeric_limits<double>::infinity()), "");
    EXPECT_EQ(number_cell(std::numeric_limits<double>::quiet_NaN()), "");
    EXPECT_EQ(number_cell(0.25), "0.25");
}

TEST(Csv, CollidingLabelsAreToldApart) {
    record::PointTrace other = three_rank_trace();
    other.point.index = 5;
    const auto records = written({three_rank_trace(), other});
    EXPECT_NE(row(records, 0).at("label"), row(records, 1).at("label"));
}

TEST(Csv, PointsOfAResumedStudyAreInTheOrderOfThePlan) {
    record::PointTrace earlier = three_rank_trace();
    earlier.point.index = 1;
    const auto records = written({three_rank_trace(), earlier});
    EXPECT_EQ(row(records, 0).at("index"), "1");
    EXPECT_EQ(row(records, 1).at("index"), "4");
}

TEST(Csv, SeveralFilesAreToldApartByAColumn) {
    for (const auto style : {CsvStyle::tidy, CsvStyle::reference}) {
        const auto records =
            read_csv(csv_text(std::vector{results_of({three_rank_trace()}, "/runs/monday/results.jsonl"),
                                          results_of({three_rank_trace()}, "other.jsonl")},
                              style));
        ASSERT_EQ(records.size(), 3u);
        EXPECT_EQ(records[0][0], "file");
        EXPECT_EQ(records[1][0], "monday");
        EXPECT_EQ(records[2][0], "other");
        for (const auto& record : records) EXPECT_EQ(record.size(), records[0].size());
    }
}

// Pass times are 2.3, 2.1, 2.2, 2.0, 2.4 and 2.7 s; 20 patches; 1.25 of 2 Mpx are useful.
TEST(ReferenceCsv, HasTheColumnsOfTheReferenceWithMeansOverPasses) {
    const auto cells = row(written({three_rank_trace()}, CsvStyle::reference), 0);
    const std::map<std::string, double> expected{{"batch_size", 4},
                                                 {"avg_time_ms", 13700 / 6.0},
                                                 {"std_time_ms", 248.32774},
                                                 {"avg_memory_mb", 300},
                                                 {"height", 1000},
                                                 {"width", 1250},
                                                 {"num_pixels", 1250000},
                                                 {"total_pixels_processed", 2e6},
                                                 {"avg_throughput", 120 / 13.7},
                                                 {"throughput_mp_per_sec", 7.5 / 13.7},
                                                 {"gather_time_sec", 0.03},
                                                 {"forward_time_sec", 1.0}};
    for (const auto& [column, value] : expected) EXPECT_NEAR(std::stod(cells.at(column)), value, 1e-5) << column;
    EXPECT_EQ(cells.at("image_size"), "1000x1250");
    EXPECT_EQ(cells.at("std_memory_mb"), "");
    std::vector<double> rates;
    for (const double seconds : three_rank_trace().wall_s) rates.push_back(20 / seconds);  // patches
    EXPECT_NEAR(std::stod(cells.at("std_throughput")), standard_deviation(rates), 1e-9);
    for (const char* column : {"gpu_memory_allocated_mb", "gpu_memory_reserved_mb", "gpu_memory_max_allocated_mb",
                               "gpu_available_memory_mb", "h2d_time_sec"})
        EXPECT_EQ(cells.at(column), "") << column;
}

TEST(ReferenceCsv, TwoPassesHaveADeviation) {
    record::PointTrace trace = three_rank_trace();
    trace.wall_s = {2, 4};
    for (auto& rank : trace.ranks) {
        rank.wall_s.resize(2);
        rank.stage_s.resize(2);
    }
    const auto cells = row(written({trace}, CsvStyle::reference), 0);
    EXPECT_NEAR(std::stod(cells.at("std_throughput")), 5 / std::sqrt(2.0), 1e-9) << "of 10 and 5 patches a second";
}

TEST(ReferenceCsv, ThePageNamesEveryColumn) {
    const std::string text = test::read_bytes(PATCHBENCH_SOURCE_DIR "/docs/reading-results.md");
    const Record header = written({}, CsvStyle::reference).front();
    for (const auto& column : header) {
        const auto stage = column.find("_time_sec");
        const std::string name = stage == std::string::npos ? column : "<stage>_time_sec";
        EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << column;
    }
}

TEST(ReferenceCsv, MemoryOfGpusIsThatOfTheFullestRank) {
    record::PointTrace trace = three_rank_trace();
    trace.point.device = DeviceKind::cuda;
    for (auto& rank : trace.ranks) rank.memory.device_used = (1002 - rank.rank) * int64_t{1} << 20;
    auto results = results_of({trace});
    for (auto& place : results.sessions[0].environment.topology.ranks) place.memory_bytes = int64_t{5000} << 20;
    const auto cells = row(read_csv(csv_text(std::vector{results}, CsvStyle::reference)), 0);
    EXPECT_EQ(cells.at("gpu_memory_max_allocated_mb"), "300");
    EXPECT_EQ(cells.at("gpu_memory_reserved_mb"), "400");
    EXPECT_EQ(cells.at("gpu_available_memory_mb"), "3998");
    results.sessions[0].environment.topology.ranks[1].memory_bytes = 0;
    const auto unknown = row(read_csv(csv_text(std::vector{results}, CsvStyle::reference)), 0);
    EXPECT_EQ(unknown.at("gpu_available_memory_mb"), "");
}

TEST(ReferenceCsv, WhatIsAbsentIsEmptyNeverZero) {
    record::PointTrace trace = unmeasured_trace(record::PointStatus::oom, "no room");
    trace.processed_pixels = trace.useful_pixels = 1e6;  // as an earlier version recorded it
    trace.num_patches = 4;
    const auto cells = row(written({trace}, CsvStyle::reference), 0);
    EXPECT_EQ(cells.at("status"), "oom");
    for (const char* column :
         {"avg_time_ms", "avg_memory_mb", "avg_throughput", "std_throughput", "total_pixels_processed"})
        EXPECT_EQ(cells.at(column), "") << column;
}

record::PointTrace engine_trace(EngineKind engine, double call_s, int64_t peak_mib) {
    record::PointTrace trace = three_rank_trace();
    trace.point.settings.engine = engine;
    for (auto& rank : trace.ranks) {
        rank.forward_call_s = {call_s, 3 * call_s};
        rank.memory.engine_peak = peak_mib << 20;
    }
    return trace;
}

TEST(Csv, FrameworksHaveTheColumnsOfTheirStudyAndMultiplesOfTheLeast) {
    record::PointTrace bf16 = engine_trace(EngineKind::torch, 0.1, 100);
    bf16.point.settings.dtype = Precision::bf16;
    record::PointTrace wrong = engine_trace(EngineKind::onnxruntime, 0.5, 50);  // the least memory, and no row
    wrong.verification.outcome = record::Verification::Outcome::failed;
    const record::PointTrace clock = engine_trace(EngineKind::timed, 0.1, 10);
    const auto records = written({engine_trace(EngineKind::torch, 0.5, 600), engine_trace(EngineKind::jax, 0.25, 900),
                                  bf16, wrong, clock, unmeasured_trace(record::PointStatus::failed, "not installed")},
                                 CsvStyle::frameworks);
    ASSERT_EQ(records.size(), 4U) << "a point without figures has no row";
    EXPECT_EQ(records[0],
              (Record{"Network", "Precision", "Framework", "Latency (seconds)", "CPU Usage (%)", "Memory Usage (MB)",
                      "Relative Latency", "Relative CPU Usage", "Relative Memory Usage"}));
    const auto torch = row(records, 0), jax = row(records, 1), other = row(records, 2);
    EXPECT_EQ(torch.at("Framework"), "torch");
    EXPECT_EQ(std::stod(torch.at("Latency (seconds)")), 1) << "the mean";
    EXPECT_EQ(torch.at("Relative Latency"), "2");
    EXPECT_EQ(jax.at("Relative Latency"), "1") << "bf16 is not set against fp32";
    EXPECT_EQ(jax.at("Memory Usage (MB)"), "900");
    EXPECT_EQ(jax.at("Relative Memory Usage"), "1.5");
    EXPECT_EQ(other.at("Relative Memory Usage"), "1");
}

TEST(Csv, FrameworksAreSetAgainstThoseOfTheirNetworkAndFile) {
    record::PointTrace unet = engine_trace(EngineKind::torch, 0.25, 300);
    unet.point.index = 5;
    unet.point.settings.network = network::kind_of<network::UnetShape>();
    const auto records = read_csv(csv_text(std::vector{results_of({engine_trace(EngineKind::torch, 0.5, 600), unet}),
                                                       results_of({engine_trace(EngineKind::torch, 0.1, 100)})},
                                           CsvStyle::frameworks));
    ASSERT_EQ(records.size(), 4U);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(row(records, i).at("Relative Latency"), "1") << i;
}

}  // namespace
}  // namespace pb::report
