// Networks for other programs: https://github.com/onnx/onnx/blob/main/docs/IR.md.
#pragma once

#include "patchbench/engine/weights.hpp"

#include <filesystem>

namespace pb {

/// Writes network and weights as an ONNX model (opset 17) of one input and one output, [batch, channels, height, width]
/// in float32; batch, height and width are free, the last two multiples of the network's alignment. Where the network
/// takes a noise level, the input has one channel more than the image. `load_weights` reads it again. Throws as
/// AtomicFile.
void save_onnx(const Weights& weights, const std::filesystem::path& file);

}  // namespace pb
