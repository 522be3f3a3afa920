// Weights of a convolution in the order in which the kernels of the engine `native` read them.
//   winograd [panel][product][in][kNativePanel]: each 3x3 kernel transformed to 36 values (16 for small tiles), in
//            double precision; in bf16 [panel][product][in / 2][kNativePanel][2 of in], two values in a float
//   narrow   [tap][out][in]
//   direct   [panel][row of the kernel][column of the kernel, in][kNativePanel]; transposed convolutions:
//            [row of the kernel][panel][in][kNativePanel], a panel over [column of the kernel, out]
// A panel is 32 output channels, the last one filled up with zeros.
#pragma once

#include "network/native_layout.hpp"

#include "patchbench/engine/weights.hpp"

#include <span>

namespace pb::engine::native {

/// `packed`: layer.packed_weights() zeros.
void pack_weights(const network::NativeConvolution& layer, const Convolution& from, std::span<float> packed);

/// `packed`: layer.packed_bias() zeros.
void pack_bias(const network::NativeConvolution& layer, const Convolution& from, std::span<float> packed);

}  // namespace pb::engine::native
