#include "measure/verdict.hpp"

#include "three_rank_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pb::measure {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Summary good() { return summarise(three_rank_trace()); }

Summary unmeasured(record::PointStatus status) { return summarise(unmeasured_trace(status, "because")); }

Summary wrong() {
    record::PointTrace trace = three_rank_trace();
    trace.verification.outcome = record::Verification::Outcome::failed;
    return summarise(trace);
}

Summary unverified() {
    record::PointTrace trace = three_rank_trace();
    trace.verification.outcome = record::Verification::Outcome::off;
    return summarise(trace);
}

Summary short_run() {
    Summary summary = good();
    summary.repetitions = 3;
    return summary;
}

TEST(Verdict, GoodPointsAreValidWithoutReasons) {
    for (const bool strict : {false, true}) {
        const Verdict verdict = judge({good(), good()}, strict);
        EXPECT_EQ(verdict.validity, Validity::valid);
        EXPECT_THAT(verdict.reasons, IsEmpty());
        EXPECT_EQ(verdict.exit_code, ExitCode::ok);
    }
}

TEST(Verdict, OutOfMemoryLeavesTheOthersValid) {
    const Verdict verdict = judge({good(), unmeasured(record::PointStatus::oom), good(), good(), good()}, false);
    EXPECT_EQ(verdict.validity, Validity::valid);
    EXPECT_THAT(verdict.reasons, ElementsAre(HasSubstr("1 of 5 points ")));
    EXPECT_EQ(verdict.exit_code, ExitCode::partial);
}

TEST(Verdict, OfImagesNamesThoseThatWereNotToBeVerified) {
    const auto [verdict, is_unverified] = judge_images({unverified(), good()});
    EXPECT_EQ(verdict.validity, Validity::valid);
    EXPECT_TRUE(is_unverified);
    EXPECT_EQ(verdict.exit_code, ExitCode::ok);
    EXPECT_THAT(verdict.reasons, ElementsAre(HasSubstr("1 of 2 images not verified")));
    EXPECT_FALSE(judge_images({good(), good()}).is_unverified);
    const auto [broken, is_named_so] = judge_images({unverified(), unmeasured(record::PointStatus::failed)});
    EXPECT_FALSE(is_named_so);
    EXPECT_EQ(broken.exit_code, ExitCode::failed);
    EXPECT_THAT(broken.reasons, Contains(HasSubstr("1 of 2 images not verified")));
    EXPECT_EQ(judge({unverified()}, false).validity, Validity::invalid) << "a speed that nobody checked";
    Summary shared = unverified();
    shared.reasons.emplace_back("ranks share a device");
    EXPECT_EQ(judge_images({shared, good()}).verdict.validity, Validity::invalid) << "that is not all";
}

TEST(Verdict, OfImagesThatWereAllCutShortFindsNothingInvalid) {
    const Verdict verdict =
        judge_images({unmeasured(record::PointStatus::interrupted), unmeasured(record::PointStatus::skipped)}).verdict;
    EXPECT_EQ(verdict.validity, Validity::valid);
    EXPECT_EQ(verdict.exit_code, ExitCode::partial);
    EXPECT_THAT(verdict.reasons, ElementsAre(HasSubstr("1 of 2 images"), HasSubstr("1 of 2 images")));
    EXPECT_EQ(judge_images({unmeasured(record::PointStatus::interrupted), unmeasured(record::PointStatus::oom)})
                  .verdict.validity,
              Validity::invalid);
}

TEST(Verdict, ARefusedPointIsAnAnswer) {
    const Verdict verdict = judge({good(), unmeasured(record::PointStatus::refused)}, false);
    EXPECT_EQ(verdict.validity, Validity::valid);
    EXPECT_THAT(verdict.reasons, ElementsAre(HasSubstr("1 of 2 points ")));
    EXPECT_EQ(verdict.exit_code, ExitCode::ok);
    EXPECT_EQ(judge({unmeasured(record::PointStatus::refused)}, false).validity, Validity::invalid)
        << "nothing was measured";
}

TEST(Verdict, EveryWayNotToBeMeasuredIsPartial) {
    for (const auto status : {record::PointStatus::oom, record::PointStatus::index_limit, record::PointStatus::skipped,
                              record::PointStatus::interrupted}) {
        const Verdict verdict = judge({good(), unmeasured(status)}, true);
        EXPECT_EQ(verdict.validity, Validity::valid);
        EXPECT_THAT(verdict.reasons, SizeIs(1));
        EXPECT_EQ(verdict.exit_code, ExitCode::partial);
    }
}

TEST(Verdict, NothingMeasuredIsNotValid) {
    EXPECT_EQ(judge({}, false).validity, Validity::invalid);
    EXPECT_EQ(judge({}, false).exit_code, ExitCode::partial);
    const Verdict verdict = judge({unmeasured(record::PointStatus::oom)}, true);
    EXPECT_EQ(verdict.validity, Validity::invalid);
    EXPECT_EQ(verdict.exit_code, ExitCode::partial);
}

TEST(Verdict, OneFailedPointFailsTheStudy) {
    const Verdict verdict =
        judge({good(), unmeasured(record::PointStatus::failed), unmeasured(record::PointStatus::oom)}, true);
    EXPECT_EQ(verdict.validity, Validity::failed);
    EXPECT_THAT(verdict.reasons, Contains(HasSubstr("1 of 3 points: ")));
    EXPECT_EQ(verdict.exit_code, ExitCode::failed);
}

TEST(Verdict, AWrongOutputOutranksEverything) {
    const Verdict verdict = judge({good(), unmeasured(record::PointStatus::failed), wrong(), unverified()}, true);
    EXPECT_EQ(verdict.validity, Validity::failed);
    EXPECT_EQ(verdict.exit_code, ExitCode::verification);
}

TEST(Verdict, InvalidEndsWithAnErrorOnlyWhenStrict) {
    const Verdict lenient = judge({good(), unverified(), unverified()}, false);
    EXPECT_EQ(lenient.validity, Validity::invalid);
    EXPECT_THAT(lenient.reasons, ElementsAre(HasSubstr("2 of 3 points: ")));
    EXPECT_EQ(lenient.exit_code, ExitCode::ok);
    EXPECT_EQ(judge({good(), unverified()}, true).exit_code, ExitCode::not_comparable);
    EXPECT_EQ(judge({unmeasured(record::PointStatus::oom), unverified()}, true).exit_code, ExitCode::not_comparable);
    EXPECT_EQ(judge({unmeasured(record::PointStatus::oom), unverified()}, false).exit_code, ExitCode::partial);
}

TEST(Verdict, CountsAReasonOnceForEachStateThatHasIt) {
    Summary drifting = unverified(), wrong_too = wrong();
    drifting.reasons = wrong_too.reasons = {"a reason of both"};
    EXPECT_THAT(judge({drifting, wrong_too, good()}, false).reasons,
                ElementsAre("1 of 3 points: a reason of both", "1 of 3 points: a reason of both"));
}

TEST(Verdict, NamesFiveReasonsAndCountsTheOthers) {
    std::vector<Summary> points{good()};
    const auto add = [&](const std::string& reason) {
        points.push_back(unverified());
        points.back().reasons = {reason};
    };
    for (const char* reason : {"a", "b", "c", "d", "e"}) add(reason);
    EXPECT_THAT(judge(points, false).reasons, ElementsAre("1 of 6 points: a", "1 of 6 points: b", "1 of 6 points: c",
                                                          "1 of 6 points: d", "1 of 6 points: e"));
    add("f");
    add("g");
    EXPECT_THAT(judge(points, false).reasons, SizeIs(6));
    EXPECT_THAT(judge(points, false).reasons.back(), "2 other reasons");
}

TEST(Verdict, FewRepetitionsAreInvalidOnlyWhenStrict) {
    EXPECT_EQ(judge({short_run()}, false).validity, Validity::valid);
    const Verdict strict = judge({short_run()}, true);
    EXPECT_EQ(strict.validity, Validity::invalid);
    EXPECT_THAT(strict.reasons, ElementsAre(HasSubstr("too few repetitions")));
    EXPECT_EQ(strict.exit_code, ExitCode::not_comparable);
}

}  // namespace
}  // namespace pb::measure
