#include "patchbench/base/enum_names.hpp"

#include <gtest/gtest.h>

#include <string>

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
    try {
        (void)parse_enum<Layout>("vgg");
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_NE(std::string(error.what()).find("channels_last | contiguous"), std::string::npos);
    }
}

}  // namespace
}  // namespace pb
