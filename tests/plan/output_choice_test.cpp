#include "plan/prediction.hpp"

#include <gtest/gtest.h>

namespace pb::plan {
namespace {

TEST(OutputChoice, HalfOfTheFreeMemoryIsTheBound) {
    EXPECT_FALSE(is_beyond_memory(250, 1000));
    EXPECT_TRUE(is_beyond_memory(250.5, 1000));
    EXPECT_TRUE(is_beyond_memory(1, 0)) << "nothing is left to the job's control group";
    EXPECT_TRUE(is_beyond_memory(30e9, int64_t{64} << 30U)) << "30 gigapixels of 8 bits, twice, on a host of 64 GiB";
    EXPECT_FALSE(is_beyond_memory(30e9, int64_t{256} << 30U));
}

TEST(OutputChoice, AFileWhereItCanBeElseTheReason) {
    const OutputChoice file = choose_output("");
    EXPECT_EQ(file.kind, config::OutputKind::file);
    EXPECT_NE(file.note.find("(output: file)"), std::string::npos) << file.note;
    const OutputChoice stuck = choose_output("in.png is decoded as a whole");
    EXPECT_EQ(stuck.kind, config::OutputKind::memory);
    EXPECT_NE(stuck.note.find("because in.png is decoded as a whole"), std::string::npos) << stuck.note;
}

}  // namespace
}  // namespace pb::plan
