// The library that is loaded: its one function.
#include "engine/torch/library.hpp"

#include "engine/torch/cuda_backend.hpp"
#include "engine/torch/tensors.hpp"
#include "engine/torch/translate_errors.hpp"
#include "engine/torch_library.hpp"

namespace pb::engine::torch_engine {

namespace {

class Library final : public TorchLibrary {
  public:
    [[nodiscard]] std::unique_ptr<Denoiser> make_denoiser(const Weights& weights,
                                                          const EngineOptions& options) const override {
        return make_torch_denoiser(weights, options);
    }
    [[nodiscard]] double matmul_tflops(const EngineOptions& options, double budget_s) const override {
        return torch_engine::matmul_tflops(options, budget_s);
    }
    [[nodiscard]] double conv_tflops(const EngineOptions& options, double budget_s) const override {
        return torch_engine::conv_tflops(options, budget_s);
    }
    [[nodiscard]] std::vector<device::LibraryVersion> versions() const override { return torch_versions(); }

    [[nodiscard]] AllocatorCounters cuda_counters(int index) const override {
        return torch_engine::cuda_counters(index);
    }
    void reset_cuda_peaks(int index) const override { torch_engine::reset_cuda_peaks(index); }
    void set_cuda_memory_limit(int index, int64_t bytes) const override {
        torch_engine::set_cuda_memory_limit(index, bytes);
    }
    void empty_cuda_cache() const override { torch_engine::empty_cuda_cache(); }
    [[nodiscard]] std::shared_ptr<void> allocate_cuda(int index, size_t bytes) const override {
        try {
            const auto memory = std::make_shared<c10::DataPtr>(torch_engine::allocate_cuda(index, bytes));
            return {memory, memory->get()};
        } catch (const c10::OutOfMemoryError& error) {
            throw OutOfMemory(first_line(error.what_without_backtrace()));
        } catch (const c10::Error& error) {
            throw Error("engine: a buffer on the GPU: " + first_line(error.what_without_backtrace()));
        }
    }
};

}  // namespace

}  // namespace pb::engine::torch_engine

extern "C" const pb::engine::TorchLibrary* patchbench_torch_library(pb::engine::CountingMemory& memory) {
    pb::engine::torch_engine::put_tensors_into(memory);
    static const pb::engine::torch_engine::Library library;
    return &library;
}
