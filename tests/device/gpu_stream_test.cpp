// Streams, events, buffers and copies on a CUDA device.
#include "patchbench/base/error.hpp"
#include "patchbench/device/device.hpp"
#include "patchbench/device/stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

namespace pb::device {
namespace {

constexpr DeviceId kCuda{DeviceKind::cuda, 0};
constexpr size_t kBytes = size_t{32} << 20;

class GpuStream : public testing::Test {
  protected:
    void SetUp() override {
        if (visible_cuda_devices().empty()) GTEST_SKIP() << why_no_cuda_device();
        select_device(kCuda);
    }
};

void fill(const PinnedBuffer& buffer, int value) { std::memset(buffer.pointer(), value, buffer.bytes()); }

bool holds_only(const PinnedBuffer& buffer, int value) {
    const auto wanted = static_cast<std::byte>(value);
    return std::all_of(buffer.pointer(), buffer.pointer() + buffer.bytes(), [&](std::byte b) { return b == wanted; });
}

TEST_F(GpuStream, ADeviceHasTheNameThatNvidiaSmiShows) {
    for (const DeviceInfo& info : visible_cuda_devices()) {
        const std::string kind = info.name.find(" MIG ") == std::string::npos ? "GPU" : "MIG";
        EXPECT_THAT(info.uuid, testing::MatchesRegex(kind + "-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"));
        EXPECT_THAT(info.pci_bus_id, testing::MatchesRegex("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-9a-f]"));
    }
}

TEST_F(GpuStream, CopiesOfAStreamKeepTheirOrder) {
    Stream stream{kCuda};
    EXPECT_NE(stream.native(), nullptr);
    const DeviceBuffer device(kCuda, kBytes);
    std::vector<PinnedBuffer> in;
    std::vector<PinnedBuffer> out;
    for (int round = 0; round < 4; ++round) {
        in.emplace_back(kCuda, kBytes);
        out.emplace_back(kCuda, kBytes);
        fill(in.back(), round + 1);
        fill(out.back(), 0);
    }
    for (size_t round = 0; round < in.size(); ++round) {
        copy_to_device(device.pointer(), in[round].pointer(), kBytes, stream);
        copy_to_host(out[round].pointer(), device.pointer(), kBytes, stream);
    }
    stream.synchronise();
    for (size_t round = 0; round < out.size(); ++round)
        EXPECT_TRUE(holds_only(out[round], static_cast<int>(round) + 1)) << "round " << round;
}

TEST_F(GpuStream, AStreamWaitsForTheOthersEvent) {
    Stream up{kCuda};
    Stream down{kCuda};
    Event written{kCuda};
    Event read{kCuda};
    const DeviceBuffer device(kCuda, kBytes);
    const PinnedBuffer in(kCuda, kBytes);
    const PinnedBuffer out(kCuda, kBytes);
    for (int round = 1; round <= 20; ++round) {
        fill(in, round);
        fill(out, 0);
        up.wait(read);  // before the first record: no wait
        copy_to_device(device.pointer(), in.pointer(), kBytes, up);
        written.record(up);
        down.wait(written);
        copy_to_host(out.pointer(), device.pointer(), kBytes, down);
        read.record(down);
        read.synchronise();
        ASSERT_TRUE(holds_only(out, round)) << "round " << round;
    }
}

TEST_F(GpuStream, EventTimesLieWithinTheHostsTimes) {
    using Clock = std::chrono::steady_clock;
    Stream stream{kCuda};
    Event start{kCuda};
    Event end{kCuda};
    const DeviceBuffer device(kCuda, kBytes);
    const PinnedBuffer host(kCuda, kBytes);
    copy_to_device(device.pointer(), host.pointer(), kBytes, stream);
    stream.synchronise();
    const auto host_start = Clock::now();
    start.record(stream);
    copy_to_device(device.pointer(), host.pointer(), kBytes, stream);
    end.record(stream);
    end.synchronise();
    const double host_s = std::chrono::duration<double>(Clock::now() - host_start).count();
    const double device_s = end.seconds_since(start);
    EXPECT_GT(device_s, static_cast<double>(kBytes) / 1e13);  // no bus carries 10 TB/s
    EXPECT_LE(device_s, host_s + 1e-4);
    EXPECT_EQ(end.seconds_since(end), 0);
}

TEST_F(GpuStream, AnEventWithoutRecordHasNoTime) {
    Stream stream{kCuda};
    Event recorded{kCuda};
    const Event empty{kCuda};
    recorded.record(stream);
    stream.synchronise();
    EXPECT_NO_THROW(empty.synchronise());
    try {
        (void)recorded.seconds_since(empty);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const OutOfMemory&) {
        ADD_FAILURE() << "which a smaller batch would help";
    } catch (const Error&) {
    }
    EXPECT_NO_THROW(stream.synchronise());  // the failure was met once and is gone
}

TEST_F(GpuStream, EventsAndStreamsOfOtherDevicesAreRefused) {
    Stream cuda{kCuda};
    Stream cpu{DeviceId{}};
    Event event{DeviceId{}};
    EXPECT_THROW(event.record(cuda), Error);
    EXPECT_THROW(cuda.wait(event), Error);
    event.record(cpu);
    EXPECT_THROW((void)event.seconds_since(Event{kCuda}), Error);
}

TEST_F(GpuStream, OutOfMemoryIsMetAndForgotten) {
    EXPECT_THROW(DeviceBuffer(kCuda, size_t{1} << 50), OutOfMemory);
    const DeviceBuffer device(kCuda, kBytes);
    EXPECT_NE(device.pointer(), nullptr);
    EXPECT_NO_THROW(synchronise_device(kCuda));
}

TEST_F(GpuStream, DeviceMemorySeesABuffer) {
    constexpr int64_t kLarge = int64_t{1} << 30;
    const DeviceMemory before = device_memory(kCuda);
    const DeviceBuffer buffer(kCuda, kLarge);
    const DeviceMemory during = device_memory(kCuda);
    EXPECT_EQ(before.total_bytes, during.total_bytes);
    EXPECT_LE(during.free_bytes, before.free_bytes - kLarge / 2);
}

}  // namespace
}  // namespace pb::device
