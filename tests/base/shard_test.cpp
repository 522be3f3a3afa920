#include "patchbench/base/shape.hpp"

#include <gtest/gtest.h>

namespace pb {
namespace {

TEST(Shard, PartitionsWithSizesThatDifferByAtMostOne) {
    for (int64_t count : {0, 1, 7, 16, 1000, 1001})
        for (int64_t ranks : {1, 2, 3, 4, 7, 64}) {
            int64_t expected_begin = 0;
            for (int64_t rank = 0; rank < ranks; ++rank) {
                const Range share = shard(count, rank, ranks);
                EXPECT_EQ(share.begin, expected_begin);
                EXPECT_LE(share.size(), ceil_div(count, ranks));
                EXPECT_GE(share.size(), count / ranks);
                expected_begin = share.end;
            }
            EXPECT_EQ(expected_begin, count);
        }
}

}  // namespace
}  // namespace pb
