#include "config/call_times.hpp"

#include "config/settings_access.hpp"
#include "support/messages.hpp"

#include <gmock/gmock.h>

namespace pb::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

CallTimes table_of(const std::string& table) {
    TimedSettings settings;
    settings.table = table;
    return CallTimes(settings);
}

TEST(CallTimes, ABaseAndASlope) {
    TimedSettings settings;
    settings.base_s = 0.25;
    settings.per_window_s = 0.5;
    EXPECT_DOUBLE_EQ(CallTimes(settings).seconds(1), 0.75);
    EXPECT_DOUBLE_EQ(CallTimes(settings).seconds(8), 4.25);
    EXPECT_EQ(CallTimes(settings).formula(), "0.25 s + 0.5 s b");
}

TEST(CallTimes, ATableIsReadBetweenItsEntriesAndNotBeyondThem) {
    const CallTimes times = table_of("2:0.2,4:0.3,8:0.9");
    EXPECT_DOUBLE_EQ(times.seconds(2), 0.2);
    EXPECT_DOUBLE_EQ(times.seconds(3), 0.25);
    EXPECT_DOUBLE_EQ(times.seconds(8), 0.9);
    EXPECT_DOUBLE_EQ(times.seconds(1), 0.2) << "a short last batch is no faster than the shortest known";
    EXPECT_THAT(usage_error([&] { (void)times.seconds(9); }), names("timed.table = 2:0.2,4:0.3,8:0.9: ", "batch 9"));
}

TEST(CallTimes, ATableFromResultsIsRefusedByTheNameOfTheResults) {
    TimedSettings settings;
    settings.results = "old/results.jsonl";
    settings.table = "1:0.5,4:1.75";
    EXPECT_THAT(usage_error([&] { (void)CallTimes(settings).seconds(8); }),
                AllOf(names("timed.results = old/results.jsonl", "batch 4", "batch 8"), Not(HasSubstr("1:0.012"))));
}

TEST(CallTimes, WhatIsNoTableIsRefused) {
    for (const char* table :
         {"1", "1:", ":0.1", "1:a", "0:0.1", "1:-1", "2:0.1,1:0.2", "1:0.1,1:0.1", "1:0.1,,2:0.2", ",", "1:86401"})
        EXPECT_THAT(usage_error([&] { (void)table_of(table); }), HasSubstr("timed.table")) << table;
    EXPECT_DOUBLE_EQ(table_of("1:86400").seconds(1), 86400) << "a day";
    PointSettings settings;
    EXPECT_THAT(usage_error([&] { set_by_key(settings, "timed.table", "1=2"); }), HasSubstr("1:0.012,4:0.03"));
}

TEST(CallTimes, ATableIsWrittenAsItIsRead) {
    const std::string table = call_table({{4, 0.3}, {1, 0.1}});
    EXPECT_EQ(table, "1:0.1,4:0.3");
    EXPECT_DOUBLE_EQ(table_of(table).seconds(4), 0.3);
}

}  // namespace
}  // namespace pb::config
