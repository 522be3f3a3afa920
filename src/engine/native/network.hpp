// Computes the graph of a network on the CPU, step by step, with kernels of our own. All maps of a forward call lie in
// one block of memory, at the offsets of the memory plan.
#pragma once

#include "engine/memory.hpp"
#include "engine/native/calls.hpp"
#include "engine/native/thread_pool.hpp"
#include "engine/step_clock.hpp"
#include "network/arena.hpp"

#include "patchbench/base/batch_view.hpp"
#include "patchbench/engine/weights.hpp"

#include <optional>
#include <vector>

namespace pb::engine::native {

class Network {
  public:
    /// Copies the weights, in the order of the kernels. Throws OutOfMemory.
    Network(const Weights& weights, int threads);

    /// out = network(in); both NHWC float32. Throws OutOfMemory before anything is written. `clock`, where there is
    /// one, times the steps.
    void run(const BatchView& in, const BatchView& out, StepClock* clock = nullptr);

  private:
    struct Layer {
        network::NativeConvolution convolution;
        const float* weights = nullptr;
        const float* bias = nullptr;
    };

    struct Call {
        network::Step step;
        std::vector<size_t> reads;   // maps that it reads
        std::optional<Layer> layer;  // of convolutions
    };

    /// Where the maps of one forward call are.
    struct Maps {
        const BatchView& in;
        const BatchView& out;
        std::byte* memory;
        std::vector<float*> scratch;  // by thread
    };

    /// A map of this forward call: NHWC.
    struct Map {
        float* values = nullptr;
        int64_t n = 0, h = 0, w = 0, channels = 0;
        [[nodiscard]] int64_t rows() const { return n * h; }
        [[nodiscard]] int64_t size() const { return n * h * w * channels; }
    };

    [[nodiscard]] Layer pack(const Weights& weights, size_t operation, float*& place) const;
    [[nodiscard]] Map map(const Maps& maps, size_t operation) const;
    void run(const Call& call, const Maps& maps);
    void convolve(const Call& call, const Maps& maps);
    void combine(const Call& call, const Maps& maps);
    void concatenate(const Call& call, const Maps& maps);
    void max_pool(const Call& call, const Maps& maps);
    void upsample(const Call& call, const Maps& maps);

    network::Graph graph_;
    network::MemoryPlan plan_;
    Kernels kernels_;
    ThreadPool threads_;
    EngineBuffer weights_;
    std::vector<Call> calls_;
    int64_t scratch_bytes_;  // of each thread
    int64_t pixels_ = 0;     // that arena_ is for
    network::Arena arena_;
};

}  // namespace pb::engine::native
