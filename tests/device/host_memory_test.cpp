#include "device/host_memory.hpp"

#include "base/text.hpp"
#include "device/processors.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

namespace pb::device {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kTouched = int64_t{64} << 20;

TEST(ResidentPeak, SeesWhatWasTouchedSinceTheReset) {
    { const std::vector<char> earlier(3 * kTouched, 1); }
    if (!reset_resident_peak()) GTEST_SKIP() << "the kernel refuses /proc/self/clear_refs";
    const int64_t before = resident_peak_bytes().value();
    { const std::vector<char> touched(kTouched, 1); }
    const int64_t grown = resident_peak_bytes().value() - before;
    EXPECT_GE(grown, kTouched * 9 / 10);
    EXPECT_LE(grown, kTouched * 3 / 2);
}

TEST(HostMemory, AvailableIsPositive) { EXPECT_GT(available_host_memory_bytes().value(), 0); }

TEST(ResidentPeak, OfAProcessIsWithoutWhatItShares) {
    void* const shared = mmap(nullptr, kTouched, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    std::memset(shared, 1, kTouched);
    // The kernel counts pages in batches, for each kind of page.
    EXPECT_LE(own_resident_peak_bytes_of(getpid()), resident_peak_bytes().value() - kTouched * 9 / 10);
    munmap(shared, kTouched);
    EXPECT_EQ(own_resident_peak_bytes_of(0), 0);
}

/// The kernel's clock that getrusage splits into user and system time.
double clock_s() {
    timespec time{};
    EXPECT_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time), 0);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(ProcessTime, IsThatOfTheKernelsClock) {
    constexpr double kMicrosecond = 1e-6;  // in which getrusage counts
    for (int i = 0; i < 20; ++i) {
        const double before = clock_s(), ours = process_cpu_seconds(), by_id = cpu_seconds_of(getpid());
        const double after = clock_s();
        EXPECT_GE(ours, before - 2 * kMicrosecond);
        EXPECT_LE(ours, after + 2 * kMicrosecond);
        EXPECT_GE(by_id, before);
        EXPECT_LE(by_id, after);
    }
    EXPECT_EQ(cpu_seconds_of(0), 0);
}

TEST(ProcessTime, HoldsWhatTheKernelDidForIt) {
    const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * time.tv_usec; };
    rusage usage{};
    while (seconds(usage.ru_stime) < 0.02) {
        const std::ifstream asked("/proc/self/status");
        ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
    }
    EXPECT_GE(process_cpu_seconds(), seconds(usage.ru_utime) + seconds(usage.ru_stime));
}

TEST(ProcessTime, GrowsWithWork) {
    const double before = process_cpu_seconds();
    volatile uint64_t sum = 0;
    while (process_cpu_seconds() < before + 0.01) sum = sum + 1;
    EXPECT_GT(process_cpu_seconds(), before);
}

TEST(Affinity, TextIsShortAndKeepsEveryProcessor) {
    EXPECT_EQ(runs_text(std::vector<int>{0, 1, 2, 3, 8}, ","), "0-3,8");
    EXPECT_EQ(runs_text(std::vector<int>{5}, ","), "5");
    EXPECT_EQ(runs_text(std::vector<int>{}, ","), "");
    std::mt19937 random(4);
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<int> processors;
        for (int processor = 0; processor < 64; ++processor)
            if (random() % 3 != 0) processors.push_back(processor);
        EXPECT_EQ(parse_processors(runs_text(processors, ",")), processors);
    }
}

TEST(Affinity, ListsProcessorsInOrderAndThisOneAmongThem) {
    const auto processors = affinity();
    ASSERT_FALSE(processors.empty());
    EXPECT_TRUE(std::ranges::is_sorted(processors));
    EXPECT_TRUE(std::ranges::binary_search(processors, sched_getcpu()));
}

/// A tree of files in place of /proc and /sys.
class KernelFiles : public testing::Test {
  protected:
    void write(const std::string& path, const std::string& text) const { home_.write(path, text); }

    const test::TemporaryFolder home_;
    const fs::path root_ = home_.path();
};

TEST_F(KernelFiles, WhatTheKernelDoesNotTellIsAbsentAndNoError) {
    EXPECT_EQ(resident_peak_bytes(root_), std::nullopt) << "no /proc";
    EXPECT_EQ(available_host_memory_bytes(root_), std::nullopt);
    write("proc/self/status", "Name:\tpatchbench\nVmRSS:\t100 kB\n");
    write("proc/meminfo", "MemTotal: 64 kB\n");
    EXPECT_EQ(resident_peak_bytes(root_), std::nullopt) << "a kernel without VmHWM";
    EXPECT_EQ(available_host_memory_bytes(root_), std::nullopt);
    write("proc/self/status", "Name:\tpatchbench\nVmHWM:\t200 kB\n");
    EXPECT_EQ(resident_peak_bytes(root_), 204800);
}

TEST_F(KernelFiles, TheGroupsLimitHoldsWhereTheHostsIsUnknown) {
    write("proc/self/cgroup", "0::/\n");
    write("sys/fs/cgroup/memory.max", "5000\n");
    write("sys/fs/cgroup/memory.current", "1000\n");
    EXPECT_EQ(available_host_memory_bytes(root_), 4000);
}

TEST_F(KernelFiles, ASixteenthOfWhatIsAvailableIsLeft) {
    EXPECT_TRUE(fits_host_memory(size_t{1} << 50, root_)) << "nothing is known";
    write("proc/meminfo", "MemTotal: 64 kB\nMemAvailable: 16 kB\n");
    EXPECT_TRUE(fits_host_memory(15 * 1024, root_));
    EXPECT_FALSE(fits_host_memory(15 * 1024 + 1, root_));
    write("proc/meminfo", "MemTotal: 64 kB\nMemAvailable: 0 kB\n");
    EXPECT_TRUE(fits_host_memory(0, root_));
    EXPECT_FALSE(fits_host_memory(1, root_));
}

using Cgroup = KernelFiles;

TEST_F(Cgroup, WithoutOneThereIsNoLimit) { EXPECT_EQ(cgroup_remaining_bytes(root_), std::nullopt); }

TEST_F(Cgroup, Version2TakesTheTightestLimitOnTheWayUp) {
    write("proc/self/cgroup", "0::/batch/job_7\n");
    write("sys/fs/cgroup/batch/job_7/memory.max", "max\n");
    write("sys/fs/cgroup/batch/job_7/memory.current", "300\n");
    EXPECT_EQ(cgroup_remaining_bytes(root_), std::nullopt);
    write("sys/fs/cgroup/batch/memory.max", "1000\n");
    write("sys/fs/cgroup/batch/memory.current", "400\n");
    EXPECT_EQ(cgroup_remaining_bytes(root_), 600);
    write("sys/fs/cgroup/batch/job_7/memory.max", "500\n");
    EXPECT_EQ(cgroup_remaining_bytes(root_), 200);
}

TEST_F(Cgroup, FileCacheThatCanBeDroppedIsLeft) {
    write("proc/self/cgroup", "0::/\n");
    write("sys/fs/cgroup/memory.max", "1000\n");
    write("sys/fs/cgroup/memory.current", "900\n");
    write("sys/fs/cgroup/memory.stat", "anon 200\ninactive_file 650\n");
    EXPECT_EQ(cgroup_remaining_bytes(root_), 750);
    write("sys/fs/cgroup/memory.current", "5000\n");
    EXPECT_EQ(cgroup_remaining_bytes(root_), 0);
}

TEST_F(Cgroup, WhatIsAvailableIsTheLessOfHostAndGroup) {
    write("proc/meminfo", "MemTotal: 64 kB\nMemAvailable: 10 kB\n");
    EXPECT_EQ(available_host_memory_bytes(root_), 10240) << "no group";
    write("proc/self/cgroup", "0::/\n");
    write("sys/fs/cgroup/memory.max", "5000\n");
    write("sys/fs/cgroup/memory.current", "1000\n");
    EXPECT_EQ(available_host_memory_bytes(root_), 4000);
    write("sys/fs/cgroup/memory.max", "99999\n");
    EXPECT_EQ(available_host_memory_bytes(root_), 10240) << "a group that allows more than there is";
}

TEST_F(Cgroup, Version1IsReadFromItsOwnHierarchy) {
    write("proc/self/cgroup", "9:cpu,cpuacct:/x\n4:memory:/job\n0::/other\n");
    write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "10\n");
    EXPECT_EQ(cgroup_remaining_bytes(root_), std::nullopt);
    write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "100\n");
    EXPECT_EQ(cgroup_remaining_bytes(root_), 90);
}

TEST_F(Cgroup, AContainerThatSeesItsGroupAsTheMountIsLimitedToo) {
    write("proc/self/cgroup", "0::/outside/container\n");
    write("sys/fs/cgroup/memory.max", "700\n");
    write("sys/fs/cgroup/memory.current", "100\n");
    EXPECT_EQ(cgroup_remaining_bytes(root_), 600);
}

TEST_F(Cgroup, Version2LimitsProcessorTime) {
    EXPECT_EQ(cgroup_processor_limit(root_), std::nullopt) << "no group";
    write("proc/self/cgroup", "0::/batch/job_7\n");
    write("sys/fs/cgroup/batch/job_7/cpu.max", "max 100000\n");
    EXPECT_EQ(cgroup_processor_limit(root_), std::nullopt);
    write("sys/fs/cgroup/batch/cpu.max", "250000 100000\n");
    EXPECT_EQ(cgroup_processor_limit(root_), 2.5);
    write("sys/fs/cgroup/batch/job_7/cpu.max", "40000 20000\n");
    EXPECT_EQ(cgroup_processor_limit(root_), 2) << "the tightest holds";
    write("sys/fs/cgroup/batch/job_7/cpu.max", "\n");
    EXPECT_EQ(cgroup_processor_limit(root_), 2.5) << "what is no limit is none";
}

TEST_F(Cgroup, Version1LimitsProcessorTimeInItsOwnHierarchy) {
    write("proc/self/cgroup", "11:cpuset:/set\n9:cpu,cpuacct:/job\n4:memory:/other\n0::/\n");
    write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
    write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(cgroup_processor_limit(root_), std::nullopt);
    write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
    EXPECT_EQ(cgroup_processor_limit(root_), 0.5);
}

TEST_F(Cgroup, KernelTextIsFoundByItsWholeName) {
    write("meminfo", "MemTotal:       16 kB\nMem: 3\nName:\t a b \n");
    EXPECT_EQ(find_bytes(root_ / "meminfo", "MemTotal"), 16384);
    EXPECT_EQ(find_bytes(root_ / "meminfo", "Mem"), 3);
    EXPECT_EQ(find_value(root_ / "meminfo", "Name"), "a b");
    write("status", "Groups:\t\nThreads:\t3\n");
    EXPECT_EQ(find_value(root_ / "status", "Groups"), "") << "of a process in none";
    EXPECT_EQ(find_value(root_ / "meminfo", "Nam"), std::nullopt);
    EXPECT_EQ(find_value(root_ / "absent", "Name"), std::nullopt);
}

}  // namespace
}  // namespace pb::device
