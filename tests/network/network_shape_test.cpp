#include "patchbench/network/network_shape.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pb::network {
namespace {

TEST(NetworkShapes, HaveTheNamesOfTheirPages) {
    EXPECT_TRUE(names_of<NetworkKind>().starts_with("drunet | unet | dncnn")) << "seeded weights depend on the order";
    EXPECT_EQ(parse_enum<NetworkKind>("unet"), kind_of<UnetShape>());
    EXPECT_EQ(kind_of<UnetShape>(), kind_of(UnetShape{}));
    EXPECT_EQ(name_of(kind_of<DncnnShape>()), "dncnn");
}

TEST(NetworkShapes, AreWrittenAndReadBack) {
    const std::vector<std::pair<NetworkShape, std::string>> shapes{
        {DrunetShape{}, "widths 64-128-256-512, 4 blocks"},
        {DrunetShape{.channels = 1, .widths = {16}, .blocks = 1}, "widths 16, 1 blocks"},
        {UnetShape{.channels = 1, .widths = {8, 20}}, "widths 8-20"},
        {DncnnShape{.depth = 17, .residual = DncnnResidual::subtract}, "depth 17, width 64, residual subtract"},
        {DncnnShape{.depth = 2, .width = 8, .residual = DncnnResidual::none}, "depth 2, width 8, residual none"}};
    for (const auto& [shape, text] : shapes) {
        EXPECT_EQ(to_text(shape), text);
        EXPECT_EQ(parse_network_shape(kind_of(shape), channels_of(shape), text), shape) << text;
    }
}

TEST(NetworkShapes, RefuseOtherTexts) {
    for (const char* text : {"", "widths", "widths -64", "widths 64-", "widths 64, 0 blocks", "widths 64, 4 blocks ",
                             "widths 64, 99999 blocks", "depth 4, width 64, residual add"})
        EXPECT_THROW((void)parse_network_shape(kind_of<DrunetShape>(), 3, text), UsageError) << text;
    EXPECT_THROW((void)parse_network_shape(kind_of<DncnnShape>(), 3, "depth 4, width 64, residual both"), UsageError);
}

TEST(NetworkShapes, AreStandardForGrayAndColourOnly) {
    EXPECT_EQ(standard_shape(kind_of<UnetShape>(), 1), NetworkShape(UnetShape{.channels = 1}));
    for (const int64_t channels : {2, 3, 7})
        EXPECT_EQ(standard_shape(kind_of<DrunetShape>(), channels), NetworkShape(DrunetShape{}));
    EXPECT_EQ(kind_of(standard_shape(kind_of<DncnnShape>(), 3)), kind_of<DncnnShape>());
}

}  // namespace
}  // namespace pb::network
