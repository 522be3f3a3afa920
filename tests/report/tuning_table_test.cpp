// The table of what `tune` tried.
#include "report/tables/tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pb::report {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

measure::TuningTrial measured_trial(double image_mib) {
    measure::TuningTrial trial{.candidate = {.peak_mib = image_mib}};
    trial.edge = 256;
    trial.job_s = 2;
    trial.psnr_loss_db = 0.01;
    trial.peak_mib = 88;
    return trial;
}

TEST(TuningTable, SaysTheMemoryOfTheImageBesideThatOfTheCrop) {
    const std::string text = tuning_table({measured_trial(298)}, 0, {4000, 3000}, false);
    EXPECT_THAT(tuning_table({measured_trial(298)}, 0, {100, 3000}, false), HasSubstr(" 100 x 256 "));
    EXPECT_THAT(text, AllOf(ContainsRegex("image  crop\n"), ContainsRegex("MiB   MiB +outcome"),
                            ContainsRegex("0.010 +298 +88  ★ taken")));
}

TEST(TuningTable, TellsWhatWasSlowerFromWhatHadNoTime) {
    measure::TuningTrial early = measured_trial(298), slower = measured_trial(298), taken = measured_trial(298);
    slower.edge = taken.edge = 512;
    slower.job_s = 3;
    const std::string text = tuning_table({early, slower, taken}, 2, {4000, 3000}, false);
    EXPECT_THAT(text, ContainsRegex("512 x 512 .* taken\n.*512 x 512 .* slower\n.*256 x 256 .* not reached\n"));
}

TEST(TuningTable, LeavesOutMemoryThatIsNotPredicted) {
    EXPECT_THAT(tuning_table({measured_trial(0)}, 0, {4000, 3000}, false), ContainsRegex("0.010 +- +88  ★ taken"));
}

TEST(TuningTable, CountsWhatWasNotMeasuredOrListsIt) {
    measure::TuningTrial large;
    large.dropped = "needs 500 MiB";
    const measure::TuningTrials trials{measured_trial(298), large, large};
    const std::string brief = tuning_table(trials, 0, {4000, 3000}, false);
    EXPECT_THAT(brief, AllOf(HasSubstr("taken\n\nnot measured: 2 candidates (--verbose lists them)\n"),
                             Not(HasSubstr("needs 500 MiB"))));
    const std::string whole = tuning_table(trials, 0, {4000, 3000}, true);
    EXPECT_THAT(whole, AllOf(ContainsRegex("needs 500 MiB\n.*needs 500 MiB\n"), Not(HasSubstr("not measured"))));
}

TEST(TuningTable, SaysWhyNothingWasMeasured) {
    measure::TuningTrial large;
    large.dropped = "needs 500 MiB";
    EXPECT_THAT(tuning_table({large}, std::nullopt, {4000, 3000}, false),
                AllOf(HasSubstr("needs 500 MiB"), Not(HasSubstr("not measured"))));
}

}  // namespace
}  // namespace pb::report
