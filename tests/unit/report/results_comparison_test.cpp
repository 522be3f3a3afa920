#include "patchbench/report/results_comparison.hpp"

#include "unit/measure/sweep_traces.hpp"
#include "unit/report/results_of.hpp"

#include <gmock/gmock.h>

namespace pb {
namespace {

TEST(ResultsComparison, EqualPointsOfAFileAreMatchedByTheirOrder) {
    const auto results = results_of({sample_point(1, 8, 1, 100), sample_point(1, 16, 2, 100)});
    const auto compared = compare_results({results}, {results});
    ASSERT_EQ(compared.points.size(), 2U);
    EXPECT_DOUBLE_EQ(compared.points[0].old_s.value(), 8);
    EXPECT_DOUBLE_EQ(compared.points[0].new_s.value(), 8);
    EXPECT_DOUBLE_EQ(compared.points[1].old_s.value(), 16);
    EXPECT_EQ(compared.count(Change::same), 2);
    EXPECT_EQ(compared.num_old, 1U);
}

TEST(ResultsComparison, AWrongOutputHasNoFigures) {
    const auto good = results_of({sample_point(1, 8, 1, 100)});
    PointTrace wrong = sample_point(1, 4, 1, 100);
    wrong.verification.outcome = Verification::Outcome::failed;
    const auto compared = compare_results({good}, {results_of({wrong})});
    ASSERT_EQ(compared.points.size(), 1U);
    EXPECT_FALSE(compared.points[0].comparison);
    EXPECT_EQ(compared.points[0].missing, "NEW: the output is wrong");
    EXPECT_TRUE(compared.points[0].lost);
    EXPECT_EQ(regressions(compared, 0.03).size(), 1U);
}

TEST(ResultsComparison, AGateWithNothingToCompareFails) {
    const auto first = results_of({sample_point(1, 8, 1, 100)});
    EXPECT_THAT(regressions(compare_results({results_of({})}, {first}), 0.03),
                testing::ElementsAre(testing::HasSubstr("nothing was compared")));
    EXPECT_TRUE(regressions(compare_results({first}, {first}), 0.03).empty());
}

}  // namespace
}  // namespace pb
