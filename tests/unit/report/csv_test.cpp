#include "patchbench/report/csv.hpp"

#include "unit/measure/three_rank_trace.hpp"

#include "patchbench/report/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

namespace pb {
namespace {

using Record = std::vector<std::string>;

/// RFC 4180, read by the book.
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

std::vector<Record> written(const std::vector<PointTrace>& traces) {
    std::vector<Summary> summaries;
    for (const auto& trace : traces) summaries.push_back(summarise(trace));
    return read_csv(csv_text(traces, summaries));
}

TEST(Csv, IsATableOfEqualRowsWithUniqueColumns) {
    const auto records =
        written({three_rank_trace(), unmeasured_trace(PointStatus::failed, "line\nbreak, \"quoted\"")});
    ASSERT_EQ(records.size(), 3u);
    for (const auto& record : records) EXPECT_EQ(record.size(), records[0].size());
    EXPECT_EQ(std::set<std::string>(records[0].begin(), records[0].end()).size(), records[0].size());
}

TEST(Csv, HoldsEverySettingAndEveryMetricInFullPrecision) {
    PointTrace trace = three_rank_trace();
    trace.wall_s.assign(kTraceRepetitions, 1.0 / 3);
    const auto cells = row(written({trace}), 0);
    EXPECT_EQ(cells.at("patch_px"), "256");
    EXPECT_EQ(cells.at("memory_limit_mib"), "0");
    EXPECT_EQ(cells.at("image.path"), "photos/retina, \"left\".png");
    EXPECT_EQ(cells.at("settled.halo_px"), "20");
    for (const auto& metric : metrics()) EXPECT_EQ(cells.count(metric.key), 1u) << metric.key;
    EXPECT_EQ(std::stod(cells.at("pipeline_s")), 1.0 / 3);
}

TEST(Csv, WhatIsAbsentIsEmptyNeverZero) {
    const auto cells = row(written({unmeasured_trace(PointStatus::oom, "no room")}), 0);
    EXPECT_EQ(cells.at("pipeline_s"), "");
    EXPECT_EQ(cells.at("psnr_denoised_db"), "");
    EXPECT_EQ(cells.at("slowest_rank"), "");
    EXPECT_EQ(cells.at("status"), "oom");
    EXPECT_THAT(cells.at("reasons"), testing::HasSubstr("no room"));
}

TEST(Csv, CollidingLabelsAreToldApart) {
    PointTrace other = three_rank_trace();
    other.point.index = 5;
    const auto records = written({three_rank_trace(), other});
    EXPECT_NE(row(records, 0).at("label"), row(records, 1).at("label"));
}

TEST(Csv, FileHoldsTheTextAndReplacesAnOlderOne) {
    const auto file = std::filesystem::path(testing::TempDir()) / "patchbench_csv_test.csv";
    std::ofstream(file) << "old";
    const std::vector<PointTrace> traces{three_rank_trace()};
    const std::vector<Summary> summaries{summarise(traces[0])};
    write_csv(traces, summaries, file);
    std::ifstream stream(file);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_EQ(text, csv_text(traces, summaries));
    std::filesystem::remove(file);
    EXPECT_THROW(write_csv(traces, summaries, file / "no" / "such" / "folder.csv"), Error);
}

}  // namespace
}  // namespace pb
