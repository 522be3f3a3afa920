// The weights of all convolutions of a network, packed (pack.hpp) one behind the other in one block: memory of this
// process, or a block that processes of the host share, packed by the first of them.
#pragma once

#include "engine/memory.hpp"
#include "network/native_layout.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace pb::engine::native {

struct PackedLayer {
    network::NativeConvolution convolution;
    const float* weights = nullptr;
    const float* bias = nullptr;
};

class PackedWeights {
  public:
    /// Throws OutOfMemory.
    PackedWeights(const Weights& weights, const network::Graph& graph, network::WinogradForm form,
                  const SharedWeights& shared);

    /// Of an operation that is a convolution.
    [[nodiscard]] const PackedLayer& layer(size_t operation) const { return *layers_[operation]; }

  private:
    std::optional<CountedPart> counted_;  // of a shared block
    std::shared_ptr<const std::byte> shared_;
    EngineBuffer own_;
    std::vector<std::optional<PackedLayer>> layers_;  // by operation
};

}  // namespace pb::engine::native
