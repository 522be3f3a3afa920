#include "patchbench/base/enum_names.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pb {
namespace {

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
