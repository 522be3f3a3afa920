// The engine's buffers without LibTorch: memory of the device straight from the runtime.
#include "engine/memory.hpp"

#include "patchbench/device/stream.hpp"

namespace pb::engine {

EngineBuffer::EngineBuffer(DeviceId device, size_t bytes) {
    const auto buffer = std::make_shared<device::DeviceBuffer>(device, bytes);
    memory_ = {buffer, buffer->pointer()};
}

}  // namespace pb::engine
