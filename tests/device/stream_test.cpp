// Streams, events, buffers and copies on the CPU; tests/device/gpu_stream_test.cpp has their CUDA side.
#include "patchbench/device/stream.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

namespace pb::device {
namespace {

TEST(Stream, OnTheCpuHasNoHandleAndRunsInline) {
    Stream stream{DeviceId{}};
    EXPECT_EQ(stream.native(), nullptr);
    Event event{DeviceId{}};
    event.record(stream);
    stream.wait(event);
    stream.synchronise();
    event.synchronise();
    EXPECT_EQ(event.native(), nullptr);
}

TEST(Event, TimeGoesForward) {
    Stream stream{DeviceId{}};
    Event first{DeviceId{}};
    Event second{DeviceId{}};
    first.record(stream);
    second.record(stream);
    EXPECT_GE(second.seconds_since(first), 0.0);
    EXPECT_LE(first.seconds_since(second), 0.0);
    EXPECT_EQ(first.seconds_since(first), 0.0);
}

TEST(Event, NeedsARecord) {
    Stream stream{DeviceId{}};
    Event recorded{DeviceId{}};
    const Event empty{DeviceId{}};
    recorded.record(stream);
    EXPECT_NO_THROW(empty.synchronise());
    EXPECT_THROW((void)recorded.seconds_since(empty), Error);
    EXPECT_THROW((void)empty.seconds_since(recorded), Error);
}

TEST(Buffer, IsAlignedAndMovesItsMemory) {
    for (const size_t bytes : {size_t{1}, size_t{63}, size_t{4097}}) {
        PinnedBuffer buffer(DeviceId{}, bytes);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.pointer()) % 64, 0U);
        EXPECT_EQ(buffer.bytes(), bytes);
        std::memset(buffer.pointer(), 7, bytes);
        std::byte* const pointer = buffer.pointer();
        PinnedBuffer moved(std::move(buffer));
        EXPECT_EQ(moved.pointer(), pointer);
        PinnedBuffer assigned;
        assigned = std::move(moved);
        EXPECT_EQ(assigned.pointer(), pointer);
        EXPECT_EQ(assigned.bytes(), bytes);
    }
}

TEST(Buffer, OfNothingIsEmpty) {
    const DeviceBuffer buffer(DeviceId{}, 0);
    EXPECT_EQ(buffer.pointer(), nullptr);
    EXPECT_EQ(PinnedBuffer().bytes(), 0U);
}

TEST(Buffer, TooMuchIsOutOfMemory) { EXPECT_THROW(PinnedBuffer(DeviceId{}, size_t{1} << 60), OutOfMemory); }

TEST(Copy, ThereAndBackIsTheIdentity) {
    Stream stream{DeviceId{}};
    std::vector<int> values{3, 1, 4, 1, 5};
    const size_t bytes = values.size() * sizeof(int);
    const DeviceBuffer device(DeviceId{}, bytes);
    copy_to_device(device.pointer(), values.data(), bytes, stream);
    std::vector<int> back(values.size());
    copy_to_host(back.data(), device.pointer(), bytes, stream);
    EXPECT_EQ(back, values);
    EXPECT_NO_THROW(copy_to_host(nullptr, nullptr, 0, stream));
}

}  // namespace
}  // namespace pb::device
