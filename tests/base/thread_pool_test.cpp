#include "base/thread_pool.hpp"

#include "support/resource_limit.hpp"

#include "patchbench/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace pb {
namespace {

TEST(ThreadPool, SharesALoopOut) {
    ThreadPool pool(3);
    std::vector<int> done(10);
    pool.run(10, [&](Range share, int thread) {
        for (int64_t i = share.begin; i < share.end; ++i) done[static_cast<size_t>(i)] += 1 + thread;
    });
    EXPECT_THAT(done, testing::ElementsAre(1, 1, 1, 2, 2, 2, 3, 3, 3, 3));
}

/// Each thread takes 8 MiB of addresses for its stack, or what `ulimit -s` says.
TEST(ThreadPool, ThatTheSystemDoesNotStartIsAnError) {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const test::ResourceLimit limit(RLIMIT_AS,
                                    static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE)) + (rlim_t{256} << 20));
    try {
        const ThreadPool pool(1000);
        FAIL() << "started " << pool.size();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::MatchesRegex("threads: [0-9]+ of 1000 could be started .*"));
    }
}

}  // namespace
}  // namespace pb
