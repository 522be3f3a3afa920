#include "plan/plan.hpp"
#include "support/messages.hpp"
#include "support/networks.hpp"

#include "patchbench/network/network_facts.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

namespace pb::plan {
namespace {

using testing::HasSubstr;

bool contains(const Rect& outer, const Rect& inner) {
    return inner.row >= outer.row && inner.column >= outer.column &&
           inner.row + inner.extent.h <= outer.row + outer.extent.h &&
           inner.column + inner.extent.w <= outer.column + outer.extent.w;
}

void expect_partition(Extent image, const std::vector<Tile>& calls) {
    std::vector<int> painted(static_cast<size_t>(image.pixels()), 0);
    for (const Tile& call : calls) {
        EXPECT_TRUE(contains(call.window, call.core));
        for (int64_t row = call.core.row; row < call.core.row + call.core.extent.h; ++row)
            for (int64_t column = call.core.column; column < call.core.column + call.core.extent.w; ++column)
                ++painted.at(static_cast<size_t>(row * image.w + column));
    }
    EXPECT_TRUE(std::all_of(painted.begin(), painted.end(), [](int times) { return times == 1; }));
}

TEST(WholeImage, KeptPartsPartitionTheImageAndAreSeen) {
    for (const network::NetworkKind kind : test::all_networks())
        for (const OddShape rule : {OddShape::split, OddShape::pad})
            for (int64_t h : {1, 8, 31, 32, 63, 64, 65, 100, 127, 128, 129, 191, 255, 256, 300})
                for (int64_t w : {1, 7, 24, 40, 64, 66, 90, 128, 130, 257, 321}) {
                    SCOPED_TRACE(std::to_string(h) + "x" + std::to_string(w));
                    const auto calls = whole_image_calls(network::network_facts(kind), {h, w}, rule);
                    expect_partition({h, w}, calls);
                    for (const auto& call : calls) {
                        EXPECT_EQ(call.window.extent.h % network::network_facts(kind).alignment, 0);
                        EXPECT_EQ(call.window.extent.w % network::network_facts(kind).alignment, 0);
                        EXPECT_EQ(call.window.extent, calls.front().window.extent);
                        EXPECT_TRUE(calls.size() == 1 || contains({0, 0, {h, w}}, call.window));
                    }
                }
}

TEST(WholeImage, AlignedImagesAreOneCallUnderEveryRule) {
    for (const network::NetworkKind kind : test::all_networks())
        for (const OddShape rule : {OddShape::split, OddShape::pad, OddShape::error}) {
            const auto calls = whole_image_calls(network::network_facts(kind), {64, 40}, rule);
            ASSERT_EQ(calls.size(), 1U);
            EXPECT_EQ(calls.front().window, (Rect{0, 0, {64, 40}}));
        }
}

// Figures of deepinv's width study: 1228 runs as four quadrants of 1088x640, 1296 as one piece.
TEST(WholeImage, DrunetSplitsAsDeepinvDoes) {
    const auto calls = whole_image_calls(network::network_facts(network::kind_of<network::DrunetShape>()), {2048, 1228},
                                         OddShape::split);
    ASSERT_EQ(calls.size(), 4U);
    EXPECT_EQ(calls[0].window, (Rect{0, 0, {1088, 640}}));
    EXPECT_EQ(calls[0].core, (Rect{0, 0, {1024, 614}}));
    EXPECT_EQ(calls[1].window, (Rect{0, 588, {1088, 640}}));
    EXPECT_EQ(calls[1].core, (Rect{0, 614, {1024, 614}}));
    EXPECT_EQ(calls[3].window, (Rect{960, 588, {1088, 640}}));
    EXPECT_EQ(calls[3].core, (Rect{1024, 614, {1024, 614}}));
    EXPECT_EQ(whole_image_calls(network::network_facts(network::kind_of<network::DrunetShape>()), {2048, 1296},
                                OddShape::split)
                  .size(),
              1U);
}

TEST(WholeImage, DrunetSplitPadsSmallImagesToSixteen) {
    const auto seen = [](Extent image) {
        return whole_image_calls(network::network_facts(network::kind_of<network::DrunetShape>()), image,
                                 OddShape::split)
            .front()
            .window.extent;
    };
    EXPECT_EQ(seen({63, 200}), (Extent{64, 208}));
    EXPECT_EQ(seen({24, 24}), (Extent{32, 32}));  // aligned, but below 32
    EXPECT_EQ(seen({32, 40}), (Extent{32, 40}));
    EXPECT_EQ(seen({64, 100}), (Extent{64, 64})) << "cut from 64 on";
}

TEST(WholeImage, OtherRulesPadToTheAlignment) {
    const auto seen = [](network::NetworkKind kind, OddShape rule) {
        return whole_image_calls(network::network_facts(kind), {101, 99}, rule).front().window.extent;
    };
    EXPECT_EQ(seen(network::kind_of<network::DrunetShape>(), OddShape::pad), (Extent{104, 104}));
    EXPECT_EQ(seen(network::kind_of<network::UnetShape>(), OddShape::split), (Extent{104, 104}));
    EXPECT_EQ(seen(network::kind_of<network::DncnnShape>(), OddShape::error), (Extent{101, 99}));
}

TEST(WholeImage, ErrorRuleNamesTheNearestExtents) {
    const auto message = usage_error([] {
        (void)whole_image_calls(network::network_facts(network::kind_of<network::DrunetShape>()), {2048, 1228},
                                OddShape::error);
    });
    EXPECT_THAT(message, HasSubstr("2048x1228 px: drunet needs extents that are multiples of 8"));
    EXPECT_THAT(message, HasSubstr("2048x1224 and 2048x1232"));
    EXPECT_THAT(message, HasSubstr("odd_shape: "));
    EXPECT_THAT(usage_error([] {
                    (void)whole_image_calls(network::network_facts(network::kind_of<network::UnetShape>()), {0, 8},
                                            OddShape::pad);
                }),
                testing::StartsWith("image of 0x8 px"));
}

}  // namespace
}  // namespace pb::plan
