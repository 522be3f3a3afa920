#include "measure/three_rank_trace.hpp"
#include "report/metrics.hpp"
#include "report/tables/tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace pb::report {
namespace {

using testing::MatchesRegex;

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

measure::Summary named(const std::string& label, int64_t index) {
    measure::Summary summary = measure::summarise(three_rank_trace());
    summary.label = label;
    summary.index = index;
    return summary;
}

TEST(FomLines, AreFourWordsEach) {
    const auto lines = lines_of(fom_lines({named("a", 0), named("with blanks\tin it", 1)}));
    for (const auto& line : lines) EXPECT_THAT(line, MatchesRegex("FOM( [^[:space:]]+){3}"));
    size_t num_headlines = 0;
    for (const auto& metric : metrics()) num_headlines += metric.is_headline() ? 1 : 0;
    EXPECT_EQ(lines.size(), 2 * num_headlines);
}

TEST(FomLines, HoldNameValueAndUnit) {
    const std::string text = fom_lines({named("a", 0)});
    EXPECT_THAT(text, HasSubstr("FOM a.pipeline_s 2.25 s\n"));
    EXPECT_THAT(text, HasSubstr("FOM a.allocated_peak_mib 300 MiB\n"));
}

TEST(FomLines, NothingIsSaidOfWhatWasNotMeasured) {
    EXPECT_EQ(fom_lines({measure::summarise(unmeasured_trace(record::PointStatus::oom, "no room"))}), "");
    record::PointTrace trace = three_rank_trace();
    trace.verification.outcome = record::Verification::Outcome::failed;
    EXPECT_THAT(fom_lines({measure::summarise(trace)}), Not(HasSubstr("_per_s")));
}

TEST(Labels, ThatCollideGetTheirIndex) {
    const auto labels = unique_labels({named("a", 0), named("b", 1), named("a", 2)});
    EXPECT_THAT(labels, testing::ElementsAre("a#0", "b", "a#2"));
}

TEST(Labels, AreUniqueForEveryMixture) {
    std::vector<measure::Summary> summaries;
    for (int64_t i = 0; i < 60; ++i)
        summaries.push_back(named(std::string(static_cast<size_t>(i * i % 7 + 1), 'p'), i));
    const auto labels = unique_labels(summaries);
    EXPECT_EQ(std::set<std::string>(labels.begin(), labels.end()).size(), summaries.size());
}

TEST(VerdictLine, IsOneLineWithReasons) {
    EXPECT_EQ(verdict_line({}), "RESULT: VALID");
    const measure::Verdict verdict{
        .validity = measure::Validity::failed, .reasons = {"a\nb", "c"}, .exit_code = ExitCode::failed};
    EXPECT_EQ(verdict_line(verdict), "RESULT: FAILED  a b; c");
}

TEST(VerdictLine, OfManyFailuresNamesAFew) {
    measure::Verdict verdict{.validity = measure::Validity::failed, .exit_code = ExitCode::failed};
    for (int i = 0; i < 9; ++i) verdict.reasons.push_back(std::to_string(i) + std::string(500, 'x'));
    const std::string line = verdict_line(verdict);
    EXPECT_LT(line.size(), 700u);
    EXPECT_THAT(line, testing::AllOf(HasSubstr("  0xx"), HasSubstr("; 2xx"), Not(HasSubstr("; 3xx"))));
    EXPECT_THAT(line, testing::EndsWith("x ...; and 6 more"));
    verdict.reasons.resize(1);
    EXPECT_EQ(verdict_line(verdict), "RESULT: FAILED  " + verdict.reasons.front()) << "nothing else tells it in full";
}

}  // namespace
}  // namespace pb::report
