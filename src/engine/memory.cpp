#include "engine/memory.hpp"

#include "engine/counting_memory.hpp"
#include "engine/torch_library.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

namespace pb::engine {

CountingMemory& counting_memory() {
    static auto* memory = new CountingMemory;  // never destroyed: tensors of static lifetime may live until the end
    return *memory;
}

AllocatorCounters allocator_counters(DeviceId device) {
    return device.is_cuda() ? torch_library().cuda_counters(device.index) : counting_memory().counters();
}

void reset_allocator_peaks(DeviceId device) {
    if (device.is_cuda())
        torch_library().reset_cuda_peaks(device.index);
    else
        counting_memory().reset_peaks();
}

void set_memory_limit(DeviceId device, int64_t bytes) {
    require(bytes >= 0, fmt::format("engine: a memory limit of {} bytes", bytes));
    if (device.is_cuda())
        torch_library().set_cuda_memory_limit(device.index, bytes);
    else
        counting_memory().set_limit(bytes);
}

void empty_allocator_cache(DeviceId device) {
    if (device.is_cuda())
        torch_library().empty_cuda_cache();
    else
        counting_memory().empty_cache();
}

EngineBuffer::EngineBuffer(DeviceId device, size_t bytes) {
    try {
        if (device.is_cuda())
            memory_ = torch_library().allocate_cuda(device.index, bytes);
        else
            memory_.reset(counting_memory().allocate(bytes), [](void* block) { counting_memory().release(block); });
    } catch (const OutOfMemory& error) {
        empty_allocator_cache(device);
        throw OutOfMemory(fmt::format("engine: a buffer of {} bytes: out of memory: {}", bytes, error.what()));
    }
}

CountedPart::CountedPart(int64_t bytes) : bytes_(bytes) {
    try {
        counting_memory().count(bytes_);
    } catch (const OutOfMemory& error) {
        throw OutOfMemory(
            fmt::format("engine: a part of {} bytes of shared memory: out of memory: {}", bytes, error.what()));
    }
}

CountedPart::~CountedPart() { counting_memory().discount(bytes_); }

}  // namespace pb::engine
