// Tests the record, the table and the notes of a point that was measured again or that drifts in spite of it.
#include "measure/telemetry_trace.hpp"
#include "report/export/exports.hpp"
#include "report/results/jsonl_writer.hpp"
#include "results_of.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace pb::report {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kCause = "node0: other processes used 1.3 cores";

record::PointTrace remeasured() {
    record::PointTrace trace = watched_trace();
    trace.discarded = {{12, 2.5, 0.043, kCause}, {9, 2.25, -0.06, ""}};
    return trace;
}

TEST(Remeasured, TheRecordSaysHowOftenAndWhyAndIsReadBack) {
    const test::TemporaryFolder folder;
    const auto file = folder / "results.jsonl";
    {
        JsonlWriter writer(file, {}, results_of({}).environment());
        writer.write_point(remeasured(), measure::summarise(remeasured()));
        writer.write_point(unmeasured_trace(record::PointStatus::oom, "no room"), {});
    }
    const auto results = load_results(file);
    const auto line = nlohmann::json::parse(results.points.at(0).json);
    EXPECT_EQ(line["measurements"], 3);
    EXPECT_EQ(line["discarded"][0]["cause"], kCause);
    EXPECT_TRUE(line["discarded"][1]["cause"].is_null());
    EXPECT_EQ(nlohmann::json::parse(results.points.at(1).json)["measurements"], 0);
    const auto& read = results.points.at(0).trace.discarded;
    ASSERT_EQ(read.size(), 2U);
    EXPECT_EQ(read[0].repetitions, 12);
    EXPECT_EQ(read[0].pipeline_s, 2.5);
    EXPECT_EQ(read[0].drift, 0.043);
    EXPECT_EQ(read[0].cause, kCause);
    EXPECT_EQ(read[1].cause, "");
}

TEST(Remeasured, TheCsvCountsTheMeasurements) {
    const std::string text = csv_text(std::vector{results_of({remeasured()})}, CsvStyle::tidy);
    EXPECT_THAT(text, HasSubstr("measurements"));
    EXPECT_THAT(text, HasSubstr(",3,MPI,"));
}

TEST(Remeasured, ASteadyLastMeasurementIsValidAndNotesTheEarlierOnes) {
    const measure::Summary summary = measure::summarise(remeasured());
    EXPECT_EQ(summary.validity, measure::Validity::valid);
    EXPECT_THAT(summary.notes, Contains(AllOf(HasSubstr("12 repetitions"), HasSubstr("+4.3 %"), HasSubstr(kCause))));
    EXPECT_THAT(summary.notes, Contains(HasSubstr("-6.0 %")));
}

TEST(Remeasured, ADriftThatStaysIsInvalidWithItsCause) {
    record::PointTrace trace = remeasured();
    trace.wall_s = {1.0, 1.2, 1.4, 1.6, 1.8, 2.0};
    for (auto& rank : trace.ranks) {
        rank.host = "node0";
        rank.telemetry = {};
        rank.telemetry[Meter::own_cpu_s] = 3;
    }
    trace.ranks[0].telemetry[Meter::observed_s] = 10;
    trace.ranks[0].telemetry[Meter::host_cpu_s] = 39;  // the ranks used 9 of these seconds
    const measure::Summary summary = measure::summarise(trace);
    EXPECT_EQ(summary.validity, measure::Validity::invalid);
    EXPECT_THAT(summary.notes,
                Contains(AllOf(HasSubstr("last measurement"), HasSubstr("node0: other processes used 3.0"))));
    trace.discarded.clear();
    EXPECT_THAT(measure::summarise(trace).notes, Contains(HasSubstr("only measurement")));
    EXPECT_THAT(measure::summarise(watched_trace()).notes, Not(Contains(HasSubstr("drifted"))));
}

}  // namespace
}  // namespace pb::report
