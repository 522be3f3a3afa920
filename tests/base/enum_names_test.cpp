#include "patchbench/base/enum_names.hpp"

#include "support/messages.hpp"

#include <gtest/gtest.h>

namespace pb {
namespace {

enum class Size : uint8_t { small, very_large };
enum class Choice : uint8_t { automatic, on };

TEST(Enums, HaveTheNamesThatTheProgramGivesThem) {
    EXPECT_EQ(names_of<Size>(), "small | very_large");
    EXPECT_EQ(name_of(Size::very_large), "very_large");
    EXPECT_EQ(name_of(static_cast<Size>(2)), "?");
    EXPECT_EQ(parse_enum<Size>("small"), Size::small);
    EXPECT_EQ(names_of<Choice>(), "auto | on") << "auto is a keyword";
    EXPECT_EQ(parse_enum<Choice>("auto"), Choice::automatic);
}

TEST(Enums, ParseListsTheNames) {
    EXPECT_EQ(parse_enum<Layout>("contiguous"), Layout::contiguous);
    EXPECT_THAT(usage_error([] { (void)parse_enum<Layout>("vgg"); }), testing::HasSubstr("channels_last | contiguous"));
}

}  // namespace
}  // namespace pb
