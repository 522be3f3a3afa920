// Computes the graph of a network with LibTorch, step by step. Maps are released after their last reader and
// overwritten as in the memory plan, so that the peak is the one that the plan predicts.
#pragma once

#include "engine/step_clock.hpp"
#include "engine/torch/layer.hpp"

#include "patchbench/network/memory_plan.hpp"

#include <optional>
#include <vector>

namespace pb::engine::torch_engine {

class Network {
  public:
    /// Copies the weights to the device and type of `placement`.
    Network(const Weights& weights, const Placement& placement);

    /// out = network(in). Call under InferenceMode. `clock`, where there is one, times the steps; CPU only.
    void run(const at::Tensor& in, at::Tensor& out, StepClock* clock = nullptr) const;

  private:
    using Maps = std::vector<at::Tensor>;  // by operation

    struct Call {
        network::Step step;
        std::vector<size_t> reads;          // maps that it reads
        std::vector<size_t> last_reads;     // those of them that no later call reads
        std::optional<size_t> overwritten;  // the map whose memory holds the result
        std::optional<Layer> layer;         // for convolutions
    };

    void run(const Call& call, Maps& maps, at::Tensor& out) const;
    [[nodiscard]] at::Tensor compute(const Call& call, Maps& maps) const;
    [[nodiscard]] at::Tensor convolve_with(const Call& call, Maps& maps) const;

    network::Graph graph_;
    std::vector<Call> calls_;
};

}  // namespace pb::engine::torch_engine
