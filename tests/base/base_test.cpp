#include "base/statistics.hpp"
#include "base/text.hpp"

#include "patchbench/base/enum_names.hpp"
#include "patchbench/base/error.hpp"
#include "patchbench/base/shard.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace pb {
namespace {

TEST(WithoutControls, ATextDoesNotSteerTheTerminal) {
    EXPECT_EQ(without_controls("a\x1b[2J\r\nb\x7f.ü"), "a?[2J??b?.ü");
    EXPECT_EQ(without_controls("a\t\nb", ' ', "\n"), "a \nb");
    EXPECT_TRUE(has_controls("a\nb"));
    EXPECT_FALSE(has_controls("~ä b"));
}

TEST(Shard, PartitionsWithSizesThatDifferByAtMostOne) {
    for (int64_t count : {0, 1, 7, 16, 1000, 1001})
        for (int64_t ranks : {1, 2, 3, 4, 7, 64}) {
            int64_t expected_begin = 0;
            for (int64_t rank = 0; rank < ranks; ++rank) {
                const Range share = shard(count, rank, ranks);
                EXPECT_EQ(share.begin, expected_begin);
                EXPECT_LE(share.size(), ceil_div(count, ranks));
                EXPECT_GE(share.size(), count / ranks);
                expected_begin = share.end;
            }
            EXPECT_EQ(expected_begin, count);
        }
}

TEST(Statistics, MedianOfEvenCountIsTheMiddle) {
    EXPECT_DOUBLE_EQ(median(std::array{4.0, 1.0, 3.0, 2.0}), 2.5);
    EXPECT_DOUBLE_EQ(median(std::array{5.0, 1.0, 3.0}), 3.0);
    EXPECT_THROW((void)median({}), Error);
}

TEST(Statistics, IntervalNeedsSixSamplesAndUsesKnownRanks) {
    std::vector<double> samples;
    for (int i = 1; i <= 5; ++i) samples.push_back(i);
    EXPECT_FALSE(median_interval(samples).has_value());
    samples.push_back(6);  // 1 - 2/64 = 0.969: the extremes
    EXPECT_DOUBLE_EQ(median_interval(samples)->low, 1);
    EXPECT_DOUBLE_EQ(median_interval(samples)->high, 6);
    for (int i = 7; i <= 10; ++i) samples.push_back(i);  // n = 10: x(2), x(9), 97.9 %
    EXPECT_DOUBLE_EQ(median_interval(samples)->low, 2);
    EXPECT_DOUBLE_EQ(median_interval(samples)->high, 9);
}

TEST(Statistics, MeanAndDeviationOfKnownSamples) {
    const std::array samples{1.0, 2.0, 6.0};
    EXPECT_DOUBLE_EQ(mean(samples), 3);
    EXPECT_DOUBLE_EQ(standard_deviation(samples), std::sqrt((4.0 + 1 + 9) / 2));
    EXPECT_DOUBLE_EQ(standard_deviation(std::array{5.0}), 0);
    EXPECT_DOUBLE_EQ(quantile(std::array{0.0, 10.0, 20.0, 40.0}, 0.9), 34) << "type 7: 0.9 x 3 = 2.7";
}

TEST(Suggest, AChangedLetterIsOneStep) {
    EXPECT_EQ(edit_distance("halo", "hale"), 1U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
    EXPECT_EQ(edit_distance("", "abc"), 3U);
}

TEST(Suggest, FindsTheNearestWordOnly) {
    const std::vector<std::string> known{"patch", "halo", "batch"};
    EXPECT_EQ(nearest_word("pathc", known), "patch");
    EXPECT_EQ(nearest_word("hallo", known), "halo");
    EXPECT_EQ(nearest_word("PATCH", known), "patch");
    EXPECT_EQ(nearest_word("temperature", known), "");
}

TEST(RankList, WhatFollowsOneAnotherIsARun) {
    EXPECT_EQ(runs_text(std::vector<int>{}), "");
    EXPECT_EQ(runs_text(std::vector{7}), "7");
    EXPECT_EQ(runs_text(std::vector{0, 1, 2, 3, 7, 9, 10}), "0-3, 7, 9-10");
    EXPECT_EQ(runs_text(std::vector{0, 1, 8}, ","), "0-1,8");
    EXPECT_EQ(ranks_text(std::vector{7}), "rank 7");
    EXPECT_EQ(ranks_text(std::vector{0, 1, 4}), "ranks 0-1, 4");
}

TEST(RankList, NamesTheHostAfterItsRanks) {
    EXPECT_EQ(ranks_text(std::vector<RankOnHost>{{2, "n1"}}), "rank 2@n1");
    const std::vector<RankOnHost> ranks{{0, "n1"}, {1, "n1"}, {2, "n2"}, {4, "n2"}, {5, "n1"}};
    EXPECT_EQ(ranks_text(ranks), "ranks 0-1@n1, 2, 4@n2, 5@n1");
}

TEST(Enums, ParseListsTheNames) {
    EXPECT_EQ(parse_enum<Layout>("contiguous"), Layout::contiguous);
    try {
        (void)parse_enum<Layout>("vgg");
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("channels_last | contiguous"), std::string::npos);
    }
}

}  // namespace
}  // namespace pb
