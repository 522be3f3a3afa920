// Which images are one rank's, and which are worked on by all ranks.
#include "plan/image_sharing.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace pb::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kMiB = 1024 * 1024;

std::vector<int64_t> random_sizes(std::mt19937& random) {
    std::vector<int64_t> sizes(std::uniform_int_distribution<size_t>(0, 40)(random));
    for (int64_t& size : sizes) size = std::uniform_int_distribution<int64_t>(0, 100)(random) * kMiB;
    return sizes;
}

TEST(ImageSharing, HoldsEveryImageOnce) {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        const std::vector<int64_t> sizes = random_sizes(random);
        ImageSharing sharing = share_images(sizes, 1 + round % 9);
        std::vector<size_t> all = sharing.together;
        all.insert(all.end(), sharing.apart.begin(), sharing.apart.end());
        std::sort(all.begin(), all.end());
        ASSERT_THAT(all, SizeIs(sizes.size()));
        for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);
    }
}

TEST(ImageSharing, GivesSmallImagesToSingleRanksTheLargestFirst) {
    EXPECT_THAT(share_images({kMiB, 3 * kMiB, 2 * kMiB}, 2).apart, ElementsAre(1, 2, 0));
    EXPECT_THAT(share_images(std::vector<int64_t>(300, 20'000), 8).together, IsEmpty());
    EXPECT_THAT(share_images({5 * kMiB, 5 * kMiB}, 2).together, IsEmpty());
    EXPECT_THAT(share_images({kMiB, kMiB, kMiB}, 2).apart, ElementsAre(0, 1, 2)) << "equal ones in their order";
}

TEST(ImageSharing, PutsAllRanksOnWhatOneRankWouldHoldUp) {
    EXPECT_THAT(share_images({kMiB, kMiB, 50 * kMiB, kMiB, kMiB, kMiB, kMiB, kMiB, kMiB}, 4).together, ElementsAre(2));
    EXPECT_THAT(share_images({20 * kMiB}, 4).together, ElementsAre(0));
    EXPECT_THAT(share_images({20 * kMiB, 20 * kMiB}, 3).together, ElementsAre(0, 1));
    EXPECT_THAT(share_images({5 * kMiB, 5 * kMiB}, 3).together, ElementsAre(0, 1)) << "6 with what each costs besides";
    EXPECT_THAT(share_images({20 * kMiB, 30 * kMiB}, 3).together, ElementsAre(0, 1)) << "in the order of their names";
}

TEST(ImageSharing, ComparesAnImageWithWhatIsLeftAfterTheLargerOnes) {
    std::vector<int64_t> sizes(8, 5 * kMiB);
    sizes[0] = 60 * kMiB;
    sizes[1] = 20 * kMiB;  // a fifth of all, and more than an even share of what follows
    EXPECT_THAT(share_images(sizes, 4).together, ElementsAre(0, 1));
}

TEST(ImageSharing, PutsAllRanksOnFilesAbove64MiB) {
    std::vector<int64_t> sizes(40, 64 * kMiB);
    EXPECT_THAT(share_images(sizes, 2).together, IsEmpty());
    sizes[7] = sizes[3] = 64 * kMiB + 1;
    EXPECT_THAT(share_images(sizes, 2).together, ElementsAre(3, 7));
}

TEST(ImageSharing, LeavesASingleRankTheOrder) {
    EXPECT_THAT(share_images({kMiB, 900 * kMiB, 2 * kMiB}, 1).apart, ElementsAre(0, 1, 2));
}

TEST(ImageSharing, IsSaidInALine) {
    EXPECT_THAT(sharing_line({{}, {0, 1}}, 2), HasSubstr("2 images on 2 ranks: one rank"));
    EXPECT_THAT(sharing_line({{0, 1}, {}}, 3), testing::EndsWith("all ranks work on each"));
    EXPECT_THAT(sharing_line({{0}, {1, 2}}, 2), HasSubstr("of the 1 large"));
    EXPECT_THAT(sharing_line({{0}, {1}}, 2), HasSubstr("2 images on 2 ranks: all ranks work on each of the 1 large"));
    EXPECT_THAT(sharing_line({{}, {0, 1}}, 1), IsEmpty());
    EXPECT_THAT(sharing_line({{0}, {}}, 4), IsEmpty());
}

TEST(ImageOrder, CountsWhatWasBegunBefore) {
    const ImageOrder order({.together = {2}, .apart = {1, 0, 3}}, {10, 30, 60, 0});
    EXPECT_EQ(order.place(1, 1).bytes_before, 0);
    EXPECT_EQ(order.place(1, 1).bytes, 60);
    const ImagePlace third = order.place(3, 1);
    EXPECT_EQ(third.number, 3);
    EXPECT_EQ(third.count, 4);
    EXPECT_EQ(third.bytes_before, 90);
    EXPECT_EQ(third.bytes, 10);
    EXPECT_EQ(third.bytes_in_all, 100);
}

TEST(ImageOrder, OtherRanksAreInTheMiddleOfTheirImages) {
    const ImageOrder order({.together = {}, .apart = {0, 1, 2}}, {40, 40, 20});
    EXPECT_EQ(order.place(1, 3).bytes_before, 0) << "nothing was begun";
    EXPECT_EQ(order.place(2, 2).bytes_before, 20);
    EXPECT_EQ(order.place(3, 3).bytes_before, 60);
}

}  // namespace
}  // namespace pb::plan
