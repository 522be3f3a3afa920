// Weights of convolutions, packed for the kernels of the engine `native`. All of a network lie one behind the other in
// one block: memory of this process, or a block that processes of the host share, packed by the first of them.
#pragma once

#include "engine/memory.hpp"
#include "network/native_layout.hpp"

#include "patchbench/engine/denoiser.hpp"
#include "patchbench/engine/weights.hpp"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace pb::engine::native {

// Weights of a convolution in the order in which the kernels of the engine `native` read them.
//   winograd [panel][product][in][kNativePanel]: each 3x3 kernel transformed to 36 values (16 for small tiles), in
//            double precision; in bf16 [panel][product][in / 2][kNativePanel][2 of in], two values in a float
//   narrow   [tap][out][in]
//   direct   [panel][row of the kernel][column of the kernel, in][kNativePanel]; transposed convolutions:
//            [row of the kernel][panel][in][kNativePanel], a panel over [column of the kernel, out]
// A panel is 32 output channels, the last one filled up with zeros.

/// `packed`: layer.packed_weights() zeros.
void pack_weights(const network::NativeConvolution& layer, const Convolution& from, std::span<float> packed);

/// `packed`: layer.packed_bias() zeros.
void pack_bias(const network::NativeConvolution& layer, const Convolution& from, std::span<float> packed);

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
