#include "comm/watchdog.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace pb::comm {
namespace {

TEST(EndJob, WhatThrowsEndsItWithItsCause) {
    EXPECT_EXIT(or_end_job("rank 1@n1", "rows", [] { throw Error("no link"); }), testing::ExitedWithCode(1),
                "patchbench: rank 1@n1: rows: no link: ending the job");
    or_end_job("rank 1@n1", "rows", [] {});
}

TEST(EndJob, ACallThatDoesNotReturnEndsIt) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(
        {
            CallLimit limit("rank 1@n1", "a call", 0.2);
            limit([] { std::this_thread::sleep_for(std::chrono::seconds(10)); });
        },
        testing::ExitedWithCode(1), "patchbench: rank 1@n1: a call did not return within 0.2 s: ending the job");
}

TEST(EndJob, CallsThatReturnDoNot) {
    CallLimit limit("rank 1@n1", "a call", 0.02);
    int num_calls = 0;
    for (; num_calls < 3; ++num_calls) limit([] {});
    EXPECT_THROW(limit([] { throw Error("a call that fails has returned"); }), Error);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));  // three times the limit
    EXPECT_EQ(num_calls, 3);
}

TEST(EndJob, NeitherDoesACallThatTakesItsTime) {
    CallLimit limit("rank 1@n1", "a call", 10);
    bool has_returned = false;
    limit([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1300));  // past the first look
        has_returned = true;
    });
    EXPECT_TRUE(has_returned);
}

}  // namespace
}  // namespace pb::comm
