// A network's graph, computed by LibTorch step by step. A map is released after its last reader, and overwritten where
// the memory plan says so, so that the peak is what the plan predicts.
#pragma once

#include "engine/torch/layer.hpp"

#include "patchbench/network/memory_plan.hpp"

#include <optional>
#include <vector>

namespace pb::torch_engine {

class Network {
  public:
    /// Copies the weights to their place.
    Network(const Weights& weights, const Placement& placement);

    /// out = network(in). Call under InferenceMode.
    void run(const at::Tensor& in, at::Tensor& out) const;

  private:
    using Maps = std::vector<at::Tensor>;  // by operation

    struct Call {
        Step step;
        std::vector<size_t> reads;          // maps
        std::vector<size_t> last_reads;     // those that no later call reads
        std::optional<size_t> overwritten;  // the map in whose memory the result is
        std::optional<Layer> layer;         // of convolutions
    };

    void run(const Call& call, Maps& maps, at::Tensor& out) const;
    [[nodiscard]] at::Tensor compute(const Call& call, Maps& maps) const;
    [[nodiscard]] at::Tensor convolve_with(const Call& call, Maps& maps) const;

    Graph graph_;
    std::vector<Call> calls_;
};

}  // namespace pb::torch_engine
