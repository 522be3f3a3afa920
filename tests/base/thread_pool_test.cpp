#include "base/thread_pool.hpp"

#include "support/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

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

/// Gives threads stacks of this size until the end of the scope.
class StackSize {
  public:
    explicit StackSize(size_t bytes) {
        ::pthread_getattr_default_np(&old_);
        pthread_attr_t attributes;
        ::pthread_getattr_default_np(&attributes);
        ::pthread_attr_setstacksize(&attributes, bytes);
        ::pthread_setattr_default_np(&attributes);
        ::pthread_attr_destroy(&attributes);
    }
    ~StackSize() {
        ::pthread_setattr_default_np(&old_);
        ::pthread_attr_destroy(&old_);
    }
    StackSize(const StackSize&) = delete;

  private:
    pthread_attr_t old_{};
};

/// All their stacks have more addresses than there are.
TEST(ThreadPool, ThatTheSystemDoesNotStartIsAnError) {
    const StackSize huge(size_t{1} << 40);
    EXPECT_THAT(error_of<Error>([] { ThreadPool(1000); }),
                testing::MatchesRegex("threads: [0-9]+ of 1000 could be started .*"));
}

}  // namespace
}  // namespace pb
