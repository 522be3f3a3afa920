#include "engine/memory.hpp"

#include "engine/torch/counting_allocator.hpp"
#include "engine/torch/cuda_backend.hpp"
#include "engine/torch/translate_errors.hpp"

#include <fmt/format.h>

#include <utility>

namespace pb::engine {

using torch_engine::counting_allocator;

AllocatorCounters allocator_counters(DeviceId device) {
    return device.is_cuda() ? torch_engine::cuda_counters(device.index) : counting_allocator().counters();
}

void reset_allocator_peaks(DeviceId device) {
    if (device.is_cuda())
        torch_engine::reset_cuda_peaks(device.index);
    else
        counting_allocator().reset_peaks();
}

void set_memory_limit(DeviceId device, int64_t bytes) {
    require(bytes >= 0, fmt::format("engine: a memory limit of {} bytes", bytes));
    if (device.is_cuda())
        torch_engine::set_cuda_memory_limit(device.index, bytes);
    else
        counting_allocator().set_limit(bytes);
}

void empty_allocator_cache(DeviceId device) {
    if (device.is_cuda())
        torch_engine::empty_cuda_cache();
    else
        counting_allocator().empty_cache();
}

struct EngineBuffer::Impl {
    c10::DataPtr memory;
};

EngineBuffer::EngineBuffer() = default;

EngineBuffer::EngineBuffer(DeviceId device, size_t bytes) : impl_(std::make_unique<Impl>()) {
    const auto empty_cache = [device] { empty_allocator_cache(device); };
    torch_engine::translate_errors(fmt::format("engine: a buffer of {} bytes", bytes), empty_cache, [&] {
        impl_->memory =
            device.is_cuda() ? torch_engine::allocate_cuda(device.index, bytes) : counting_allocator().allocate(bytes);
    });
}

EngineBuffer::~EngineBuffer() = default;
EngineBuffer::EngineBuffer(EngineBuffer&&) noexcept = default;
EngineBuffer& EngineBuffer::operator=(EngineBuffer&&) noexcept = default;

void* EngineBuffer::pointer() const { return impl_ ? impl_->memory.get() : nullptr; }

}  // namespace pb::engine
