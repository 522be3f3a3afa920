#include "report/tables/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace pb::report {
namespace {

using testing::ElementsAre;

TEST(TextLines, CountCharactersNotBytes) {
    EXPECT_EQ(width_of("ä → ö"), 5u);
    EXPECT_EQ(beginning_of("ä → ö", 3), "ä →");
    EXPECT_EQ(cut_to("ä → ö, and more", 9), "ä → ö ...");
    EXPECT_EQ(cut_to("ä → ö", 5), "ä → ö");
    EXPECT_EQ(cut_to("one two three", 8), "one ...") << "one blank before the mark";
}

TEST(TextLines, OfWordsAreAsLongAsTheyFit) {
    EXPECT_THAT(broken_lines("a bb  ccc dddddd e", 4), ElementsAre("a bb", "ccc", "dddddd", "e"));
    EXPECT_THAT(broken_lines("", 4), ElementsAre(""));
}

TEST(Folded, LinesThatFitStay) {
    const std::string table = "key    value\n---    -----\n\n  a        1\n";
    EXPECT_EQ(folded(table, 12), table);
    EXPECT_EQ(folded("ä → ö ä → ö", 11), "ä → ö ä → ö");
    EXPECT_EQ(folded("one two three", kAnyWidth), "one two three");
}

TEST(Folded, WhatFollowsIsIndented) {
    EXPECT_EQ(folded("one two three four\nfive", 9), "one two\n  three\n  four\nfive");
    EXPECT_EQ(folded("  one two three four\n", 11), "  one two\n    three\n    four\n");
    EXPECT_EQ(folded("ab:  one two three", 13), "ab:  one two\n     three") << "below the second column";
    EXPECT_EQ(folded("ä ö ü ä ö ü", 7), "ä ö ü ä\n  ö ü");
}

TEST(Folded, LinesAreNoLongerThanTheWidth) {
    for (size_t width = 9; width < 40; ++width) {
        std::istringstream lines(folded("aaa bbbb cc ddddd e  ff ggg\n  hhhh iii jj kkkkk", width));
        for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
    }
}

TEST(Folded, LongWordsStayWhole) {
    EXPECT_EQ(folded("in /a/very/long/path and more", 10), "in\n  /a/very/long/path\n  and more");
    EXPECT_EQ(folded("/a/very/long/path", 10), "/a/very/long/path");
    EXPECT_EQ(folded("/a/very/long/path   ", 10), "/a/very/long/path   ");
    EXPECT_EQ(folded("aaa bbb ccc", 1), "aaa\nbbb\nccc") << "it ends for any width";
}

}  // namespace
}  // namespace pb::report
