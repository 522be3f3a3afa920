// The engine's buffers without LibTorch: memory of the device straight from the runtime.
#include "engine/memory.hpp"

#include "patchbench/device/buffer.hpp"

namespace pb::engine {

struct EngineBuffer::Impl {
    device::DeviceBuffer memory;
};

EngineBuffer::EngineBuffer() = default;
EngineBuffer::EngineBuffer(DeviceId device, size_t bytes)
    : impl_(std::make_unique<Impl>(Impl{device::DeviceBuffer(device, bytes)})) {}
EngineBuffer::~EngineBuffer() = default;
EngineBuffer::EngineBuffer(EngineBuffer&&) noexcept = default;
EngineBuffer& EngineBuffer::operator=(EngineBuffer&&) noexcept = default;
void* EngineBuffer::pointer() const { return impl_ ? impl_->memory.pointer() : nullptr; }

}  // namespace pb::engine
