#include "engine/torch/tensors.hpp"

#include "base/engine_support.hpp"
#include "engine/torch/cuda_backend.hpp"

#include "patchbench/base/views.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <fmt/format.h>

#include <mutex>

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

at::ScalarType scalar_type(DType type) {
    switch (type) {
        case DType::f16: return at::kHalf;
        case DType::bf16: return at::kBFloat16;
        default: return at::kFloat;
    }
}

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

Placement placement_of(const EngineOptions& options) {
    const auto device = options.device.is_cuda()
                            ? c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(options.device.index))
                            : c10::Device(c10::kCPU);
    return {.options = at::TensorOptions().dtype(scalar_type(storage_of(options.precision))).device(device),
            .format = memory_format(options.layout)};
}

at::MemoryFormat memory_format(Layout layout) {
    return layout == Layout::channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

void check_cpu_options(const EngineOptions& options) {
    const std::string refusal = precision_refusal(EngineKind::torch, "torch", DeviceKind::cpu, options.precision);
    if (!refusal.empty()) throw UsageError(refusal);
    require(options.threads > 0, fmt::format("engine: {} threads", options.threads));
}

at::Tensor as_tensor(const BatchView& view, const at::TensorOptions& options) {
    const auto [n, c, h, w] = view.shape;
    const auto [sn, sc, sh, sw] = strides_of(view.shape, view.layout);
    return at::from_blob(view.pointer, {n, c, h, w}, {sn, sc, sh, sw}, options);
}

// OpenMP has a number of threads for each calling thread, so it is set at every forward call. Only if it differs:
// changing it empties oneDNN's cache of compiled kernels.
void use_threads(int threads) {
    static std::once_flag once;
    std::call_once(once, [] { at::set_num_interop_threads(1); });  // this program runs one operator at a time
    if (at::get_num_threads() != threads) at::set_num_threads(threads);
}

}  // namespace pb::engine::torch_engine
