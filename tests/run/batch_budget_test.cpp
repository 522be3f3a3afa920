// What `batch: auto` may cost: the time of the search against that of the job, by a made-up clock.
#include "run/point/settle.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace pb::run {
namespace {

/// A device on which a call of b windows takes base_s + window_s b, and what was spent on it.
struct MadeUpDevice {
    double base_s = 0;
    double window_s = 0.01;
    double spent_s = 0;
    int64_t trials = 0;

    BatchTrial operator()(int64_t batch) {
        ++trials;
        const double call_s = base_s + window_s * static_cast<double>(batch);
        spent_s += 2 * call_s;  // it warms up first
        return {.fits = true, .pixels_per_s = static_cast<double>(batch) / call_s, .call_s = call_s};
    }
    [[nodiscard]] double job_s(int64_t windows, int64_t batch) const {
        return static_cast<double>(windows) * (base_s / static_cast<double>(batch) + window_s);
    }
};

TEST(BatchBudget, TheSearchTakesNoMoreThanAShareOfTheJob) {
    for (const int64_t windows : {200, 1000, 5000, 100000}) {
        SCOPED_TRACE(windows);
        MadeUpDevice device{.base_s = 0.1};  // gains up to large batches
        const int64_t batch = find_batch(windows, std::ref(device));
        EXPECT_GT(device.trials, 1);
        EXPECT_LE(device.spent_s, 0.05 * device.job_s(windows, batch) * 1.001);
    }
}

TEST(BatchBudget, ALongJobIsSearchedToTheEnd) {
    MadeUpDevice device{.base_s = 0.1};
    EXPECT_EQ(find_batch(100000, std::ref(device)), 256) << "from there on the gain is below 3 %";
    EXPECT_EQ(device.trials, 10);
}

TEST(BatchBudget, AShortJobIsNotSearchedAtAll) {
    MadeUpDevice device{.base_s = 0.1};
    EXPECT_EQ(find_batch(4, std::ref(device)), 1);
    EXPECT_EQ(device.trials, 1);
}

}  // namespace
}  // namespace pb::run
