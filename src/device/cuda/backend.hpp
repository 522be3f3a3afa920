// What this layer asks of CUDA, without a CUDA type. In a build without CUDA absent.cpp answers: no device, and
// everything else throws. Handles are cudaStream_t and cudaEvent_t.
#pragma once

#include "device/convert.hpp"
#include "device/part_count.hpp"

#include "patchbench/device/device.hpp"
#include "patchbench/device/stream.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pb::device::cuda {

/// Devices, or why there are none.
struct Discovery {
    std::vector<DeviceInfo> devices;
    std::string reason;
};
[[nodiscard]] Discovery discover();

void select(int index);
void synchronise(int index);
[[nodiscard]] DeviceMemory memory(int index);
[[nodiscard]] std::vector<LibraryVersion> versions();

void destroy_stream(void* stream) noexcept;
void destroy_event(void* event) noexcept;
/// Does not synchronise with the default stream.
[[nodiscard]] void* make_stream(int index);
[[nodiscard]] void* make_event(int index);
void wait(void* stream, void* event);
void synchronise_stream(void* stream);
void record(void* event, void* stream);
void synchronise_event(void* event);
[[nodiscard]] double seconds_between(void* start, void* end);

[[nodiscard]] std::byte* allocate(Memory memory, int index, size_t bytes);
void release(Memory memory, std::byte* pointer) noexcept;

enum class Direction : uint8_t { to_device, to_host, on_device };
void copy(void* to, const void* from, size_t bytes, Direction direction, void* stream);

/// As the functions of convert.hpp and part_count.hpp, on views that were checked. The stream's device is selected for
/// the launch.
void samples_to_network(const BatchView& samples, const BatchView& network, const Conversion& conversion, void* stream);
void network_to_samples(const BatchView& network, const BatchView& samples, const Conversion& conversion, void* stream);
void count_not_finite(const BatchView& network, PartCount* counts, int64_t num_counts, void* stream);

}  // namespace pb::device::cuda
