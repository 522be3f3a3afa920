#include "config/sample_settings.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pb::config {
namespace {

TEST(ParseRange, TakesAutoAndTwoNumbers) {
    EXPECT_EQ(parse_range("").kind, RangeChoice::Kind::of_type);
    EXPECT_EQ(parse_range("auto").kind, RangeChoice::Kind::automatic);
    const RangeChoice range = parse_range("-300:4.7e3");
    EXPECT_EQ(range.kind, RangeChoice::Kind::fixed);
    EXPECT_EQ(range.low, -300);
    EXPECT_EQ(range.high, 4700);
    for (const char* text : {"1", ":", "1:", ":1", "1:1", "2:1", "nan:1", "0:inf", "0:1:2", "-1e308:1e308", "0-1"})
        EXPECT_THROW((void)parse_range(text), UsageError) << text;
}

TEST(ParseNodata, TakesANumberNanAndNone) {
    EXPECT_EQ(parse_nodata("").kind, NodataChoice::Kind::of_file);
    EXPECT_EQ(parse_nodata("none").kind, NodataChoice::Kind::none);
    EXPECT_EQ(parse_nodata("-9999").value, -9999);
    EXPECT_TRUE(std::isnan(parse_nodata("nan").value));
    EXPECT_EQ(parse_nodata("inf").value, std::numeric_limits<double>::infinity());
    EXPECT_EQ(parse_nodata("-inf").value, -std::numeric_limits<double>::infinity());
    for (const char* text : {"x", "1 ", "infinite", "0x10"}) EXPECT_THROW((void)parse_nodata(text), UsageError) << text;
}

TEST(ParseBands, TakesOneAndThree) {
    EXPECT_FALSE(parse_bands("").has_value());
    EXPECT_EQ(parse_bands("4").value().first, 3);
    EXPECT_EQ(parse_bands("4").value().count, 1);
    EXPECT_EQ(parse_bands("1-3").value().first, 0);
    EXPECT_EQ(parse_bands("1-3").value().count, 3);
    for (const char* text : {"0", "-1", "1-2", "3-1", "1-4", "1-3-5", "a", "0-2", "1-"})
        EXPECT_THROW((void)parse_bands(text), UsageError) << text;
}

}  // namespace
}  // namespace pb::config
