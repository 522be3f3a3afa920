#include "report/tables/progress_text.hpp"

#include "report/tables/text_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace pb::report {
namespace {

using testing::EndsWith;
using testing::StartsWith;

TEST(Throttle, LetsOneUpdatePassInAnInterval) {
    Throttle throttle(0.2, 5);
    EXPECT_FALSE(throttle.is_due(4.9));
    EXPECT_TRUE(throttle.is_due(5.15));
    EXPECT_FALSE(throttle.is_due(5.3)) << "the interval starts at the last update, not at a multiple";
    EXPECT_TRUE(throttle.is_due(5.4));
    EXPECT_TRUE(throttle.is_due(100));
    EXPECT_FALSE(throttle.is_due(100.1)) << "intervals that were missed are not made up for";
}

TEST(SecondsLeft, FollowTheAverageRate) {
    EXPECT_FALSE(seconds_left(0, 3)) << "nothing is known yet";
    EXPECT_DOUBLE_EQ(*seconds_left(0.25, 3), 9);
    EXPECT_DOUBLE_EQ(*seconds_left(1, 12), 0);
}

TEST(PartOfPoint, GrowsWithEveryPassAndIsNeverOne) {
    EXPECT_EQ(part_of_point(0, 4), 0);
    EXPECT_EQ(part_of_point(1, 4), 0.25);
    EXPECT_EQ(part_of_point(3, 4), 0.75);
    EXPECT_EQ(part_of_point(0, 0), 0);
    for (int64_t passes = 0; passes < 100; ++passes) {
        EXPECT_LT(part_of_point(passes, 4), part_of_point(passes + 1, 4)) << passes;
        EXPECT_LT(part_of_point(passes, 4), 1) << passes;
    }
}

TEST(BarLine, HasNameBarAndFigures) {
    EXPECT_EQ(bar_line("a.tif", 0.5, {"50 %", ""}, 80), "a.tif [###############...............] 50 %");
    EXPECT_EQ(bar_line("", 0, {"0/2", ""}, 80), "[..............................] 0/2");
    EXPECT_EQ(bar_line("", 1, {"2/2", ""}, 80), "[##############################] 2/2");
    EXPECT_THAT(bar_line("", 1.5, {"", ""}, 80), StartsWith("[" + std::string(30, '#') + "]"));
}

TEST(BarLine, IsNarrowerThanAnyTerminal) {
    const std::string name = "folder of übergroße Bilder/series-0001/slide-0042.ome.tif", figures = "41 %, 0:42 left";
    for (size_t columns = 0; columns < 140; ++columns)
        EXPECT_LT(width_of(bar_line(name, 0.4, {figures, ""}, columns)), std::max<size_t>(columns, 1)) << columns;
}

TEST(BarLine, LosesTheBarBeforeTheNameAndTheNameBeforeTheFigures) {
    const std::string name = "series-0001-slide-0042.tif", figures = "41 %, 0:42 left";
    EXPECT_EQ(bar_line(name, 0.5, {figures, ""}, 80),
              "series-0001-slide-0042.tif [###############...............] 41 %, 0:42 left");
    EXPECT_EQ(bar_line(name, 0.5, {figures, ""}, 70),
              "series-0001-slide-0042.tif [##########..........] 41 %, 0:42 left");
    EXPECT_EQ(bar_line(name, 0.5, {figures, ""}, 50), "...-0042.tif [#####.....] 41 %, 0:42 left");
    EXPECT_EQ(bar_line(name, 0.5, {figures, ""}, 30), "...-0042.tif 41 %, 0:42 left");
    EXPECT_EQ(bar_line(name, 0.5, {figures, ""}, 20), "41 %, 0:42 left");
    EXPECT_EQ(bar_line(name, 0.5, {figures, ""}, 5), "41 %");
    EXPECT_EQ(bar_line("ääääääääääääää", 0.5, {figures, ""}, 30), "...äääääääää 41 %, 0:42 left") << "whole characters";
}

TEST(BarLine, TakesTheBriefFiguresBeforeItLosesTheName) {
    const BarFigures figures = {"41 %, 1.230 of 3.000 Mpx, 0:42 left", "41 %, 0:42 left"};
    EXPECT_EQ(bar_line("a.tif", 0.5, figures, 60), "a.tif [#####.....] 41 %, 1.230 of 3.000 Mpx, 0:42 left");
    EXPECT_EQ(bar_line("a.tif", 0.5, figures, 54), "a.tif [##########..........] 41 %, 0:42 left");
    EXPECT_EQ(bar_line("a.tif", 0.5, figures, 30), "a.tif 41 %, 0:42 left");
    EXPECT_EQ(bar_line("a.tif", 0.5, figures, 20), "41 %, 0:42 left");
}

ImageProgress quarter_of_an_image() { return {.fraction = 0.25, .pixels = 30e6, .pass_s = 2}; }

TEST(ImageFigures, SayPixelsRateAndTimeLeft) {
    EXPECT_EQ(image_figures(quarter_of_an_image()).full, "25 %, 7.500 of 30.00 Mpx, 3.750 Mpx/s, 0:06 left");
    EXPECT_EQ(image_figures(quarter_of_an_image()).brief, "25 %, 3.750 Mpx/s, 0:06 left");
}

TEST(ImageFigures, SayNoRateBeforeAnythingIsDone) {
    ImageProgress image = quarter_of_an_image();
    image.fraction = 0;
    EXPECT_EQ(image_figures(image).full, "0 %, 0 of 30.00 Mpx");
}

TEST(ImageFigures, OfSeveralImagesSayPixelsRateAndTimeLeftInAll) {
    ImageProgress image = quarter_of_an_image();
    image.share_before = 0.2;
    image.share = 0.1;
    image.all_pixels = 200e6;
    image.all_s = 45;
    const std::string in_all = "; in all 45.00 of about 200.0 Mpx, 1.000 Mpx/s, 2:35 left";
    EXPECT_THAT(image_figures(image).full, EndsWith(", 0:06 left" + in_all)) << "22.5 % of all took 45 s";
    const std::string line = bar_line("3/10 slide.tif", 0.25, image_figures(image), 80);
    EXPECT_EQ(line, "3/10 slide.tif [##........] 25 %, 3.750 Mpx/s, 0:06 left; in all 2:35 left");
    image.activity = "verification";
    EXPECT_EQ(image_figures(image).full, "verification" + in_all);
    EXPECT_EQ(image_figures(image).brief, "verification; in all 2:35 left");
    image.share_before = 0;  // a quarter of a pass over three images is done
    image.share = 0.3;
    image.all_s = 30;
    EXPECT_THAT(image_figures(image).full, EndsWith("; in all 15.00 of about 200.0 Mpx, 0.5000 Mpx/s, 6:10 left"));
    image.fraction = 0;
    EXPECT_EQ(image_figures(image).full, "verification") << "no image is done";
}

TEST(TimeLine, NamesTheParts) {
    EXPECT_EQ(time_line(2.504, {{"start-up", 0.5}, {"network", 2.004}}),
              "2.50 s in all: start-up 0.50 s, network 2.00 s");
    EXPECT_EQ(time_line(1, {}), "1.00 s in all");
}

}  // namespace
}  // namespace pb::report
