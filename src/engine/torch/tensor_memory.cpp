#include "engine/torch/tensor_memory.hpp"

#include "engine/torch/cuda_backend.hpp"

#include "patchbench/base/error.hpp"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

namespace pb::engine::torch_engine {

namespace {

CountingMemory*& installed() {
    static CountingMemory* memory = nullptr;
    return memory;
}

void release(void* pointer) { installed()->release(pointer); }

class TensorAllocator final : public c10::Allocator {
  public:
    /// Throws c10::OutOfMemoryError beyond the cap or when the host has no more.
    c10::DataPtr allocate(size_t bytes) override {
        try {
            void* pointer = installed()->allocate(bytes);
            return {pointer, pointer, &release, c10::Device(c10::kCPU)};
        } catch (const OutOfMemory& error) {
            C10_THROW_ERROR(OutOfMemoryError, error.what());
        }
    }
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
    void copy_data(void* destination, const void* source, std::size_t bytes) const override {
        default_copy_data(destination, source, bytes);
    }
};

}  // namespace

void put_tensors_into(CountingMemory& memory) {
    if (installed() != nullptr) return;
    installed() = &memory;
    constexpr uint8_t kAboveDefault = 100;
    c10::SetCPUAllocator(new TensorAllocator, kAboveDefault);  // never destroyed, as its tensors may not be
}

CountingMemory* tensor_memory() { return installed(); }

void empty_tensor_cache(DeviceId device) {
    if (device.is_cuda())
        empty_cuda_cache();
    else if (CountingMemory* memory = tensor_memory())
        memory->empty_cache();
}

}  // namespace pb::engine::torch_engine
