// The fake runtime itself: which orders it tries, and that each mistake ends the test under its name.
#include "fake_cuda.hpp"

#include "launch_kernel.cuh"

#include "patchbench/device/device.hpp"
#include "patchbench/device/stream.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <utility>

namespace pb::fakes {
namespace {

constexpr size_t kBytes = 1000;

void call(cudaError_t status) { ASSERT_EQ(status, cudaSuccess); }

/// Two streams, an event, and memory on device 0 of a machine with two.
struct Bench {
    explicit Bench(uint64_t seed) : machine({seed, 2}) {
        call(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
        call(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
        call(cudaEventCreate(&event));
        for (void** memory : {&device, &other_device}) call(cudaMalloc(memory, kBytes));
        for (void** memory : {&host, &other_host}) call(cudaHostAlloc(memory, kBytes, cudaHostAllocDefault));
    }
    ~Bench() {
        for (const cudaStream_t stream : {first, second}) call(cudaStreamSynchronize(stream));
        for (const cudaStream_t stream : {first, second}) call(cudaStreamDestroy(stream));
        call(cudaEventDestroy(event));
        for (void* memory : {device, other_device}) call(cudaFree(memory));
        for (void* memory : {host, other_host}) call(cudaFreeHost(memory));
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    void copy_in(cudaStream_t stream) const {
        call(cudaMemcpyAsync(device, host, kBytes, cudaMemcpyHostToDevice, stream));
    }
    void copy_out(cudaStream_t stream) const {
        call(cudaMemcpyAsync(other_host, device, kBytes, cudaMemcpyDeviceToHost, stream));
    }
    /// The second stream waits for the first.
    void copy_in_then_out() const {
        copy_in(first);
        call(cudaEventRecord(event, first));
        call(cudaStreamWaitEvent(second, event, 0));
        copy_out(second);
    }
    [[nodiscard]] bool has_copied() const { return std::memcmp(host, other_host, kBytes) == 0; }

    FakeCuda machine;
    cudaStream_t first = nullptr, second = nullptr;
    cudaEvent_t event = nullptr;
    void *device = nullptr, *other_device = nullptr;
    void *host = nullptr, *other_host = nullptr;
};

/// What a mistake looks like in some orders only is tried in many.
void with_seeds(const std::function<void(Bench&)>& use) {
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        Bench bench(seed);
        std::memset(bench.host, static_cast<int>(seed), kBytes);
        use(bench);
    }
}

TEST(VisibleDevices, AreAllOfTheMachine) {
    for (const int count : {1, 2, 3}) {
        const FakeCuda machine({.num_devices = count});
        EXPECT_EQ(std::ssize(device::visible_cuda_devices()), count);
    }
}

TEST(DeviceWork, IsDoneWhenItsDeviceIsSynchronised) {
    with_seeds([](Bench& bench) {
        bench.copy_in_then_out();
        device::synchronise_device({DeviceKind::cuda, 0});
        EXPECT_TRUE(bench.has_copied());
    });
}

TEST(DeviceMemoryOfTwo, LiesOnTheDeviceThatItIsFor) {
    const FakeCuda machine({.num_devices = 2});
    constexpr DeviceId kFirst{DeviceKind::cuda, 0}, kOther{DeviceKind::cuda, 1};
    device::select_device(kFirst);
    const auto used = [](DeviceId device) {
        const device::DeviceMemory memory = device::device_memory(device);
        return memory.total_bytes - memory.free_bytes;
    };
    const device::DeviceBuffer buffer(kOther, kBytes);
    EXPECT_EQ(used(kFirst), 0);
    EXPECT_EQ(used(kOther), static_cast<int64_t>(kBytes));
    int current = -1;
    call(cudaGetDevice(&current));
    EXPECT_EQ(current, 0) << "as before";
}

TEST(FakeCuda, AStreamKeepsItsOrderAndAnEventThatOfTwo) {
    with_seeds([](Bench& bench) {
        bench.copy_in_then_out();
        call(cudaStreamSynchronize(bench.second));
        EXPECT_TRUE(bench.has_copied());
    });
}

TEST(FakeCuda, WhatNothingOrdersRunsInEitherOrder) {
    std::set<std::string> orders;
    with_seeds([&](Bench& bench) {
        std::string order;
        const auto note = [&](cudaStream_t stream, char name) {
            enqueue_kernel(stream, 1, 1, {}, [&order, name] { order += name; });
        };
        note(bench.first, 'a');
        note(bench.second, 'b');
        note(bench.first, 'c');
        call(cudaDeviceSynchronize());
        orders.insert(order);
    });
    EXPECT_EQ(orders, (std::set<std::string>{"abc", "acb", "bac"}));
}

TEST(FakeCuda, AWaitIsForTheRecordThatWasBeforeIt) {
    with_seeds([](Bench& bench) {
        call(cudaStreamWaitEvent(bench.second, bench.event, 0));  // never recorded: no wait
        call(cudaStreamSynchronize(bench.second));
        call(cudaEventRecord(bench.event, bench.first));
        call(cudaStreamWaitEvent(bench.second, bench.event, 0));
        call(cudaEventRecord(bench.event, bench.second));  // a wait for this one would never end
        call(cudaStreamSynchronize(bench.second));
        call(cudaEventSynchronize(bench.event));
    });
}

TEST(FakeCuda, TimesOfEventsAreThoseOfWorkThatIsDone) {
    float ms = 0;
    with_seeds([&](Bench& bench) {
        EXPECT_EQ(cudaEventElapsedTime(&ms, bench.event, bench.event), cudaErrorInvalidResourceHandle);
        call(cudaEventRecord(bench.event, bench.first));
        call(cudaEventSynchronize(bench.event));
        call(cudaEventElapsedTime(&ms, bench.event, bench.event));
        EXPECT_EQ(ms, 0);
    });
}

TEST(FakeCuda, NewMemoryIsNotANumber) {
    Bench bench(1);
    for (size_t i = 0; i < kBytes / sizeof(float); ++i) ASSERT_TRUE(std::isnan(static_cast<float*>(bench.host)[i]));
}

TEST(FakeCuda, PageableMemoryIsCopiedAtTheCall) {
    with_seeds([](Bench& bench) {
        int number = 17;
        call(cudaMemcpyAsync(bench.device, &number, sizeof number, cudaMemcpyHostToDevice, bench.first));
        number = 0;
        call(cudaMemcpyAsync(&number, bench.device, sizeof number, cudaMemcpyDeviceToHost, bench.first));
        EXPECT_EQ(number, 17);
    });
}

using FakeCudaDeathTest = testing::Test;

TEST(FakeCudaDeathTest, NamesWorkThatOvertakes) {
    EXPECT_DEATH(
        with_seeds([](Bench& bench) {
            bench.copy_in(bench.first);
            bench.copy_out(bench.second);
        }),
        "overtaking: copy to the host .* reads memory of device 0 .* which copy to the device .* still to write");
    EXPECT_DEATH(
        with_seeds([](Bench& bench) {
            bench.copy_out(bench.second);
            bench.copy_in(bench.first);
        }),
        "overtaking: copy to the device .* writes memory of device 0 .* which copy to the host .* still to read");
}

TEST(FakeCudaDeathTest, NamesTheHostBetweenWorkInFlight) {
    volatile int sum = 0;
    EXPECT_DEATH(with_seeds([&](Bench& bench) {
                     bench.copy_out(bench.first);
                     sum = *static_cast<int*>(bench.other_host);
                 }),
                 "the host touches pinned memory .* which copy to the host .* has still to write");
    EXPECT_DEATH(with_seeds([](Bench& bench) {
                     bench.copy_in(bench.first);
                     std::memset(bench.host, 0, kBytes);
                 }),
                 "the host writes pinned memory .* which copy to the device .* has still to read");
    EXPECT_DEATH(std::memset(Bench(1).device, 0, 1), "the host touches memory of device 0");
}

TEST(FakeCudaDeathTest, NamesWhatIsFreedTooEarlyTwiceOrNever) {
    EXPECT_DEATH(with_seeds([](Bench& bench) {
                     bench.copy_in(bench.first);
                     call(cudaFreeHost(std::exchange(bench.host, nullptr)));
                 }),
                 "freed in use: pinned memory");
    int own = 0;
    EXPECT_DEATH(call(cudaFree(&own)), "free of memory that was never allocated");
    const auto after_free = [](const std::function<void(Bench&)>& use) {
        Bench bench(1);
        call(cudaFree(bench.device));
        call(cudaFreeHost(bench.host));
        use(bench);
    };
    EXPECT_DEATH(after_free([](Bench& bench) { call(cudaFree(bench.device)); }), "double free: memory of device 0");
    EXPECT_DEATH(after_free([](Bench& bench) { bench.copy_in(bench.first); }), "use after free: a copy");
    EXPECT_DEATH(after_free([](Bench& bench) { std::memset(bench.host, 0, 1); }), "use after free: pinned memory");
    EXPECT_DEATH(
        {
            Bench bench(1);
            void* forgotten = nullptr;
            call(cudaMalloc(&forgotten, kBytes));
        },
        "never freed: memory of device 0");
    EXPECT_DEATH(call(cudaFreeHost(Bench(1).device)), "other kind");
}

TEST(FakeCudaDeathTest, NamesTheWrongDevice) {
    const auto on_device_1 = [](const std::function<void(Bench&, cudaStream_t)>& use) {
        Bench bench(1);
        call(cudaSetDevice(1));
        cudaStream_t stream = nullptr;
        call(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        use(bench, stream);
    };
    EXPECT_DEATH(on_device_1([](Bench& bench, cudaStream_t stream) { bench.copy_in(stream); }), "wrong device: a copy");
    EXPECT_DEATH(on_device_1([](Bench& bench, cudaStream_t stream) { (void)cudaEventRecord(bench.event, stream); }),
                 "wrong device: an event");
    EXPECT_DEATH(on_device_1([](Bench& bench, cudaStream_t) { enqueue_kernel(bench.first, 1, 1, {}, [] {}); }),
                 "wrong device: a kernel on a stream");
    EXPECT_DEATH(on_device_1([](Bench& bench, cudaStream_t stream) {
                     enqueue_kernel(stream, 1, 1, {{bench.device, true}}, [] {});
                 }),
                 "wrong device: a kernel's use");
}

TEST(FakeCudaDeathTest, NamesWhatLiesBeyondAnEnd) {
    const auto write_at = [](size_t place) {
        Bench bench(1);
        const auto kernel = +[](std::byte* memory, size_t index) { memory[index] = std::byte{1}; };
        device::cuda::launch_kernel(kernel, 1, 1, bench.first, static_cast<std::byte*>(bench.device), place);
    };
    EXPECT_DEATH(write_at(4096), "beyond the end: something next to memory of device 0");
    EXPECT_DEATH(write_at(kBytes), "beyond the end: .* 0 bytes behind its end|use-after-poison");
    EXPECT_DEATH(
        {
            Bench bench(1);
            (void)cudaMemcpyAsync(bench.device, bench.host, kBytes + 1, cudaMemcpyHostToDevice, bench.first);
        },
        "beyond the end: a copy of 1001 bytes");
}

TEST(FakeCudaDeathTest, NamesAStreamThatIsNone) {
    EXPECT_DEATH(Bench(1).copy_in(nullptr), "default stream");
    EXPECT_DEATH(
        {
            Bench bench(1);
            call(cudaStreamDestroy(bench.first));
            bench.copy_in(bench.first);
        },
        "stream 1 after its end");
}

}  // namespace
}  // namespace pb::fakes
