#include "base/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pb {
namespace {

TEST(WithoutControls, ATextDoesNotSteerTheTerminal) {
    EXPECT_EQ(without_controls("a\x1b[2J\r\nb\x7f.ü"), "a?[2J??b?.ü");
    EXPECT_EQ(without_controls("a\t\nb", ' ', "\n"), "a \nb");
    EXPECT_TRUE(has_controls("a\nb"));
    EXPECT_FALSE(has_controls("~ä b"));
}

TEST(ReadNumber, TakesTheWholeTextOrLeavesTheValue) {
    double real = 7;
    for (const char* text : {"", " 1", "1 ", "16x", "0x10", "+1", "nano", "1e999"}) {
        EXPECT_FALSE(read_number(text, real)) << text;
        EXPECT_EQ(real, 7);
    }
    EXPECT_TRUE(read_number("-2.5e-1", real));
    EXPECT_EQ(real, -0.25);
    int64_t whole = 7;
    EXPECT_FALSE(read_number("9223372036854775808", whole));
    EXPECT_FALSE(read_number("1.5", whole));
    EXPECT_EQ(whole, 7);
    EXPECT_TRUE(read_number("-9223372036854775808", whole));
    uint64_t count = 7;
    EXPECT_FALSE(read_number("-1", count));
    EXPECT_TRUE(read_number("18446744073709551615", count));
}

TEST(Suggest, AChangedLetterIsOneStep) {
    EXPECT_EQ(edit_distance("halo", "hale"), 1U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
    EXPECT_EQ(edit_distance("", "abc"), 3U);
    EXPECT_EQ(edit_distance("abc", ""), 3U);
    EXPECT_EQ(edit_distance("haalloo", "halo"), 3U);
}

TEST(Suggest, FindsTheNearestWordOnly) {
    const std::vector<std::string> known{"patch", "halo", "batch"};
    EXPECT_EQ(nearest_word("pathc", known), "patch");
    EXPECT_EQ(nearest_word("hallo", known), "halo");
    EXPECT_EQ(nearest_word("haallo", known), "halo");
    EXPECT_EQ(nearest_word("PATCH", known), "patch");
    EXPECT_EQ(nearest_word("temperature", known), "");
    EXPECT_EQ(nearest_word("ratio", known), "") << "three of five letters differ from batch";
    EXPECT_EQ(nearest_word("unt", std::vector<std::string>{"UNet"}), "UNet");
    EXPECT_EQ(nearest_word("xy", std::vector<std::string>{"on", "off"}), "") << "no letter is the same";
}

TEST(Split, GivesThePiecesThatTheSeparatorEnds) {
    EXPECT_THAT(split("a, b", ", "), testing::ElementsAre("a", "b"));
    EXPECT_THAT(split("a,,b,", ","), testing::ElementsAre("a", "", "b"));
    EXPECT_THAT(split("", ","), testing::IsEmpty());
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

}  // namespace
}  // namespace pb
