#include "comm/shared/shared_counter.hpp"

#include "comm/shared/node_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace pb::comm {
namespace {

class SharedCounterTest : public testing::Test {
  protected:
    /// Numbers that this rank took, until `end`; the first that is not below it is the last.
    std::vector<double> take_until(SharedCounter& counter, int64_t end, bool early) {
        std::vector<double> taken;
        for (int64_t number = counter.take(); number < end; number = counter.take()) {
            taken.push_back(static_cast<double>(number));
            if (early) counter.request();
        }
        return taken;
    }

    /// All ranks together have each number below `end` once.
    void expect_each_once(const std::vector<double>& mine, int64_t end) {
        std::vector<double> all;
        for (const auto& row : world.all_gather(mine)) all.insert(all.end(), row.begin(), row.end());
        std::sort(all.begin(), all.end());
        ASSERT_EQ(all.size(), static_cast<size_t>(end));
        for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<double>(i));
    }

    const Communicator world = Communicator::world();
};

TEST_F(SharedCounterTest, EachNumberGoesToOneRank) {
    SharedCounter counter(world);
    for (const bool early : {false, true})
        for (int round = 0; round < 20; ++round) {
            counter.reset();
            expect_each_once(take_until(counter, 50, early), 50);
        }
}

TEST_F(SharedCounterTest, ANumberThatWasAskedForIsNotLost) {
    SharedCounter counter(world);
    counter.request();
    counter.request();
    world.barrier();
    const double mine = static_cast<double>(counter.take());
    expect_each_once({mine}, world.size());
    counter.request();
    counter.reset();
    world.barrier();
    expect_each_once(take_until(counter, 3, false), 3);
}

TEST_F(SharedCounterTest, OnOneNodeTheRootNeedNotHelp) {
    SharedCounter counter(world);
    const NodeMemory memory(world.node(), sizeof(std::atomic<int>));
    auto& done = *reinterpret_cast<std::atomic<int>*>(memory.bytes().data());
    world.barrier();
    if (world.is_root()) {  // without any MPI until the others have theirs
        for (int i = 0; i < 2000 && done < world.size() - 1; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        EXPECT_EQ(done, world.size() - 1);
    } else {
        for (int i = 0; i < 100; ++i) (void)counter.take();
        ++done;
    }
    world.barrier();
    if (world.is_root()) {
        EXPECT_EQ(counter.take(), 100 * (world.size() - 1));
    }
    world.barrier();
}

}  // namespace
}  // namespace pb::comm
