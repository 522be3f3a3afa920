// What ranks agree on when their steps end in different ways.
#include "run/agreement.hpp"

#include "support/on_ranks.hpp"

#include "patchbench/base/error.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <string>

namespace pb::run {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Agreement = test::OnRanks;

TEST_F(Agreement, TheWorstEndDecidesAndOnlyItsRanksAreHeard) {
    const auto step = [&] {
        if (is_last()) throw Error("the device broke");
        if (world_.rank() == 0) throw OutOfMemory("memory is short");
    };
    try {
        together(world_, step);
        ADD_FAILURE() << "all is well";
    } catch (const PointFailed& failed) {
        EXPECT_EQ(failed.status(), record::PointStatus::failed);
        EXPECT_THAT(failed.what(), AllOf(HasSubstr("rank " + std::to_string(world_.size() - 1) + "@"),
                                         HasSubstr("the device broke"), Not(HasSubstr("memory"))));
    }
}

TEST_F(Agreement, AMistakeOfTheUserComesBeforeAllOtherEnds) {
    const auto step = [&] {
        if (is_last()) throw UsageError("no such file");
        throw Error("the device broke");
    };
    try {
        together(world_, step);
        ADD_FAILURE() << "all is well";
    } catch (const AgreedError& agreed) {
        EXPECT_EQ(agreed.code(), ExitCode::usage);
        EXPECT_THAT(agreed.what(), AllOf(HasSubstr("no such file"), Not(HasSubstr("device"))));
    }
}

TEST_F(Agreement, WhatIsTooLargeIsToldFromWhatDoesNotFit) {
    const auto status_after = [&](const std::function<void()>& step) {
        try {
            together(world_, step);
        } catch (const PointFailed& failed) {
            return failed.status();
        }
        return record::PointStatus::ok;
    };
    EXPECT_EQ(status_after([] { throw IndexLimit("too many elements"); }), record::PointStatus::index_limit);
    EXPECT_EQ(status_after([] { throw OutOfMemory("memory is short"); }), record::PointStatus::oom);
}

TEST_F(Agreement, AllIsWellWhereNoRankSaysOtherwise) {
    EXPECT_NO_THROW(together(world_, [] {}));
}

}  // namespace
}  // namespace pb::run
