// The library that is loaded: its one function.
#include "engine/torch/library.hpp"

#include "engine/torch/cuda_backend.hpp"
#include "engine/torch/tensors.hpp"
#include "engine/torch_library.hpp"

namespace pb::engine::torch_engine {

namespace {

std::shared_ptr<void> allocate_shared(int index, size_t bytes) {
    try {
        const auto memory = std::make_shared<c10::DataPtr>(allocate_cuda(index, bytes));
        return {memory, memory->get()};
    } catch (const c10::OutOfMemoryError& error) {
        throw OutOfMemory(first_line(error.what_without_backtrace()));
    } catch (const c10::Error& error) {
        throw Error("engine: a buffer on the GPU: " + first_line(error.what_without_backtrace()));
    }
}

constexpr TorchLibrary kLibrary{.make_denoiser = &make_torch_denoiser,
                                .matmul_tflops = &matmul_tflops,
                                .conv_tflops = &conv_tflops,
                                .versions = &torch_versions,
                                .cuda_counters = &cuda_counters,
                                .reset_cuda_peaks = &reset_cuda_peaks,
                                .set_cuda_memory_limit = &set_cuda_memory_limit,
                                .empty_cuda_cache = &empty_cuda_cache,
                                .allocate_cuda = &allocate_shared};

}  // namespace

}  // namespace pb::engine::torch_engine

extern "C" const pb::engine::TorchLibrary* patchbench_torch_library(pb::engine::CountingMemory& memory) {
    pb::engine::torch_engine::put_tensors_into(memory);
    return &pb::engine::torch_engine::kLibrary;
}
