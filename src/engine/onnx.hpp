// Writes networks for other programs as ONNX: https://github.com/onnx/onnx/blob/main/docs/IR.md.
#pragma once

#include "patchbench/engine/weights.hpp"

#include <filesystem>
#include <string>

namespace pb::engine {

/// Writes network and weights as an ONNX model (opset 17) with one input and one output, [batch, channels, height,
/// width] in float32. Batch, height and width are dynamic; height and width must be multiples of the network's
/// alignment. When the network takes a noise level, the input has one channel more than the image. `load_weights` can
/// read the file. Throws like AtomicFile.
void save_onnx(const Weights& weights, const std::filesystem::path& file);

/// The content of that file.
[[nodiscard]] std::string to_onnx(const Weights& weights);

}  // namespace pb::engine
