// For machines without a GPU, and builds without CUDA.
#include "engine/torch/cuda_backend.hpp"

#include "patchbench/base/error.hpp"

namespace pb::engine::torch_engine {

namespace {

[[noreturn]] void refuse() {
    throw UsageError("engine: no CUDA: use device cpu, or a machine with a GPU and a build with -DPATCHBENCH_CUDA=ON");
}

}  // namespace

std::unique_ptr<CudaBackend> make_cuda_backend(const EngineOptions&) { refuse(); }
AllocatorCounters cuda_counters(int) { refuse(); }
void reset_cuda_peaks(int) { refuse(); }
void set_cuda_memory_limit(int, int64_t) { refuse(); }
void empty_cuda_cache() { refuse(); }
void release_cublas_workspaces() { refuse(); }
c10::DataPtr allocate_cuda(int, size_t) { refuse(); }
std::vector<device::LibraryVersion> cudnn_versions() { return {}; }

}  // namespace pb::engine::torch_engine
