#include "device/best_rates.hpp"

#include "base/stopwatch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace pb::device {
namespace {

constexpr double kBriefly = 0.01;  // s
constexpr DeviceId kCpu;

TEST(CallTime, FirstCallIsNotCountedAndThreeGroupsAreTimedAtLeast) {
    Stream stream(kCpu);
    int calls = 0;
    const double seconds = seconds_of_call(stream, 0, [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(calls == 0 ? 100 : 2));
        ++calls;
    });
    EXPECT_EQ(calls, 1 + 1 + 3) << "not counted, calibration, three groups of one call";
    EXPECT_GE(seconds, 0.002);
}

TEST(CallTime, ShortCallsAreTimedInGroups) {
    Stream stream(kCpu);
    int calls = 0;
    const Stopwatch watch;
    const double seconds = seconds_of_call(stream, 0, [&] { ++calls; });
    const double all_s = watch.seconds();
    EXPECT_GT(calls, 1 + 1 + 3);
    const int of_a_group = (calls - 2) / 3;
    EXPECT_LE(2 * of_a_group * seconds, all_s) << "two of the three groups took as long as the median, or longer";
}

TEST(CopyRates, HostMemoryIsCopiedByAnyNumberOfThreads) {
    for (const int threads : {0, 1, 2, 5}) {
        EXPECT_GT(host_copy_gb_per_s(threads, kBriefly), 0.01) << threads;
        EXPECT_LT(host_copy_gb_per_s(threads, kBriefly), 1e5) << threads;
    }
}

TEST(CopyRates, WithoutADeviceTheCopiesAreThoseOfTheHost) {
    EXPECT_GT(device_copy_gb_per_s(kCpu, kBriefly), 0.01);
    EXPECT_GT(h2d_gb_per_s(kCpu, kBriefly), 0.01);
    EXPECT_GT(d2h_gb_per_s(kCpu, kBriefly), 0.01);
}

}  // namespace
}  // namespace pb::device
