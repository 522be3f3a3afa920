#include "report/metrics.hpp"

#include "measure/every_figure.hpp"
#include "support/damage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace pb::report {
namespace {

using testing::MatchesRegex;

std::string page_of_results() { return test::read_bytes(PATCHBENCH_SOURCE_DIR "/docs/reading-results.md"); }

TEST(Metrics, KeysAreUniqueSnakeCaseWords) {
    std::set<std::string> keys;
    for (const auto& metric : metrics()) {
        EXPECT_THAT(metric.key, MatchesRegex("[a-z][a-z0-9_]*"));
        EXPECT_TRUE(keys.insert(metric.key).second) << metric.key;
    }
}

TEST(Metrics, TimesAndMemoryCarryTheirUnitAtTheEndOfTheKey) {
    constexpr std::pair<std::string_view, std::string_view> kEndings[] = {{"s", "_s"}, {"MiB", "_mib"}, {"dB", "_db"}};
    for (const auto& metric : metrics()) {
        const std::string key = metric.key, unit = metric.unit;
        EXPECT_THAT(unit, MatchesRegex("[^[:space:]]+")) << key;
        for (const auto& [measured_in, ending] : kEndings)
            EXPECT_TRUE(unit != measured_in || key.ends_with(ending)) << key;
    }
}

TEST(Metrics, AnUnmeasuredPointHasNone) {
    const measure::Summary summary = measure::summarise(unmeasured_trace(record::PointStatus::oom, "no room"));
    for (const auto& metric : metrics())
        EXPECT_EQ(metric.value(summary).has_value(), std::string(metric.key) == "repetitions") << metric.key;
}

TEST(Metrics, EachHasTheValueThatWasComputedBesideTheProgram) {
    const measure::Summary summary = measure::summarise(trace_of_every_figure());
    const auto expected = every_figure();
    ASSERT_EQ(metrics().size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
        const auto& [key, value] = expected[i];
        EXPECT_EQ(metrics()[i].key, key);
        EXPECT_NEAR(metrics()[i].value(summary).value_or(-1), value, 1e-12 * std::abs(value)) << key;
    }
}

TEST(Metrics, AreReadBackIntoTheirOwnPlace) {
    for (const auto& metric : metrics()) {
        measure::Summary summary;
        metric.value.set(summary, 42);
        EXPECT_EQ(metric.value(summary), 42) << metric.key;
        for (const auto& other : metrics()) {
            if (&other == &metric || std::string(other.key) == "repetitions") continue;  // every summary has it
            EXPECT_EQ(other.value(summary), std::nullopt) << metric.key << " into " << other.key;
        }
    }
}

// The page repeats the table of the code. When this test fails, copy the table that it prints into the page.
TEST(Metrics, ThePageHoldsTheGlossary) {
    EXPECT_NE(page_of_results().find(glossary()), std::string::npos)
        << "replace the glossary of docs/reading-results.md with:\n"
        << glossary();
}

TEST(Metrics, ThePageHoldsWhatCanLimitAPoint) {
    EXPECT_NE(page_of_results().find(limit_glossary()), std::string::npos)
        << "replace the table of docs/reading-results.md with:\n"
        << limit_glossary();
}

}  // namespace
}  // namespace pb::report
