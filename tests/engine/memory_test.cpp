#include "engine/memory.hpp"

#include "support/messages.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

/// The address sanitizer ends the program at an allocation that cannot be; here it is asked for.
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier): the sanitizer's name
    return "allocator_may_return_null=1";
}

namespace pb::engine {
namespace {

constexpr DeviceId kCpu;
constexpr size_t kMebibyte = 1 << 20;

int64_t allocated() { return allocator_counters(kCpu).allocated_bytes; }
int64_t peak() { return allocator_counters(kCpu).peak_allocated_bytes; }

TEST(Memory, BuffersAreCountedWhileTheyLive) {
    const int64_t before = allocated();
    {
        EngineBuffer buffer(kCpu, 3 * kMebibyte);
        EXPECT_EQ(allocated(), before + 3 * static_cast<int64_t>(kMebibyte));
        const EngineBuffer moved = std::move(buffer);
        EXPECT_EQ(allocated(), before + 3 * static_cast<int64_t>(kMebibyte));
        EXPECT_EQ(buffer.pointer(), nullptr);  // NOLINT(bugprone-use-after-move): that is the contract
    }
    EXPECT_EQ(allocated(), before);
}

TEST(Memory, BuffersOfAnySizeAreAlignedAndWritable) {
    for (const size_t bytes : {size_t{1}, size_t{63}, kMebibyte + 1, 5 * kMebibyte}) {
        const EngineBuffer buffer(kCpu, bytes);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.pointer()) % 64, 0U);
        std::memset(buffer.pointer(), 0xAB, bytes);
    }
    EXPECT_EQ(EngineBuffer(kCpu, 0).pointer(), nullptr);
    EXPECT_EQ(EngineBuffer().pointer(), nullptr);
}

TEST(Memory, TheCapIsOnAllBuffersTogether) {
    const EngineBuffer first(kCpu, 2 * kMebibyte);
    set_memory_limit(kCpu, allocated() + static_cast<int64_t>(3 * kMebibyte));
    const EngineBuffer second(kCpu, 2 * kMebibyte);
    EXPECT_THROW(EngineBuffer(kCpu, 2 * kMebibyte), OutOfMemory) << "each by itself would fit";
    set_memory_limit(kCpu, 0);
}

TEST(Memory, PeakStartsAgainFromWhatIsAllocated) {
    const EngineBuffer kept(kCpu, kMebibyte);
    reset_allocator_peaks(kCpu);
    const int64_t held = allocated();
    EXPECT_EQ(peak(), held);
    { const EngineBuffer gone(kCpu, 2 * kMebibyte); }
    EXPECT_EQ(peak(), held + 2 * static_cast<int64_t>(kMebibyte));
    EXPECT_EQ(allocator_counters(kCpu).peak_reserved_bytes, peak()) << "freed blocks are kept below it";
    reset_allocator_peaks(kCpu);
    EXPECT_EQ(peak(), held);
}

TEST(Memory, FreedBlocksServeAgainButNeverBeyondThePeak) {
    reset_allocator_peaks(kCpu);
    const int64_t before = allocated();
    const auto reserved = [before] { return allocator_counters(kCpu).reserved_bytes - before; };
    const auto large = static_cast<int64_t>(4 * kMebibyte);
    { const EngineBuffer buffer(kCpu, 4 * kMebibyte); }
    EXPECT_EQ(reserved(), large);
    { const EngineBuffer same(kCpu, 4 * kMebibyte); }
    EXPECT_EQ(reserved(), large);
    {
        const EngineBuffer other(kCpu, 3 * kMebibyte);  // the kept 4 MiB beside it would exceed the peak
        EXPECT_EQ(reserved(), 3 * static_cast<int64_t>(kMebibyte));
    }
    EXPECT_EQ(peak(), before + large);
    empty_allocator_cache(kCpu);
    EXPECT_EQ(reserved(), 0);
}

TEST(Memory, EveryAllocationCounts) {
    const int64_t before = allocator_counters(kCpu).num_allocations;
    for (int i = 0; i < 5; ++i) const EngineBuffer buffer(kCpu, 100);
    EXPECT_EQ(allocator_counters(kCpu).num_allocations, before + 5);
}

TEST(Memory, TheCapIsExactAndCanBeLifted) {
    const int64_t before = allocated();
    set_memory_limit(kCpu, before + 1000);
    { const EngineBuffer fits(kCpu, 1000); }
    EXPECT_THROW(EngineBuffer(kCpu, 1001), OutOfMemory);
    EXPECT_EQ(allocated(), before);
    set_memory_limit(kCpu, before + static_cast<int64_t>(kMebibyte));
    EXPECT_THAT(error_of<OutOfMemory>([] { EngineBuffer(kCpu, kMebibyte + kMebibyte / 2); }),
                testing::HasSubstr("1.50 MiB more do not fit"));
    set_memory_limit(kCpu, 0);
    const EngineBuffer lifted(kCpu, 1001);
    EXPECT_THROW(set_memory_limit(kCpu, -1), Error);
}

TEST(Memory, MoreThanTheHostHasIsOutOfMemory) {
    const int64_t before = allocated(), peak_before = peak();
    EXPECT_THAT(error_of<OutOfMemory>([] { EngineBuffer(kCpu, size_t{1} << 46); }),
                testing::HasSubstr("the host has no 67108864 MiB more"));
    EXPECT_EQ(allocated(), before);
    EXPECT_EQ(peak(), peak_before) << "of what there was";
}

TEST(Memory, PartsOfSharedMemoryCountAsLongAsTheyLive) {
    const int64_t before = allocated();
    set_memory_limit(kCpu, before + 1000);
    {
        const CountedPart part(600);
        EXPECT_EQ(allocated(), before + 600);
        EXPECT_THROW(CountedPart(600), OutOfMemory);
    }
    EXPECT_EQ(allocated(), before);
    set_memory_limit(kCpu, 0);
}

TEST(Memory, CountsHoldWhenThreadsAllocateSideBySide) {
    const int64_t before = allocated();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([] {
            for (int i = 0; i < 1000; ++i) const EngineBuffer buffer(kCpu, static_cast<size_t>(i + 1));
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(allocated(), before);
}

/// In a process of its own, since LibTorch is loaded once.
TEST(TorchLibraryDeathTest, LeavesTheUsersVariables) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto keeps_both = [] {
        setenv("OMP_WAIT_POLICY", "passive", 1);
        setenv("GOMP_SPINCOUNT", "7", 1);
        if (engine_versions().empty()) return false;
        const char* const policy = std::getenv("OMP_WAIT_POLICY");
        const char* const count = std::getenv("GOMP_SPINCOUNT");
        return policy != nullptr && count != nullptr && std::string(policy) == "passive" && std::string(count) == "7";
    };
    EXPECT_EXIT(std::_Exit(keeps_both() ? 0 : 1), testing::ExitedWithCode(0), "");
}

/// Programs that this one starts would take it for the user's choice.
TEST(TorchLibrary, LeavesNoVariableBehind) {
    for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) unsetenv(name);
    EXPECT_FALSE(engine_versions().empty());
    EXPECT_EQ(std::getenv("GOMP_SPINCOUNT"), nullptr);
}

}  // namespace
}  // namespace pb::engine
