// A network in an ONNX file: read as operations and values under the names of the file, recognised, and written.
#pragma once

#include "engine/checkpoint/checkpoint_file.hpp"

#include "patchbench/engine/weights.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace pb::engine {

struct OnnxNetwork {
    network::Graph graph;  ///< filters have the names of the weights in the file, as words (graph_text.hpp)
    std::map<std::string, Convolution> convolutions;  ///< by those names; batch norm is folded into them
    std::map<std::string, std::string> metadata;      ///< `metadata_props` of the model
};

/// Whether `file` may be an ONNX model: the format has no magic bytes, but writers begin with its version.
[[nodiscard]] bool is_onnx(Bytes file);

/// Reads a model of one input and one output, whose nodes are the operations of a `Graph` (Identity and Dropout aside).
/// Nothing is executed. `name`: of the file; weights may lie in others in its folder. Throws UsageError that names the
/// file, the node and the reason.
[[nodiscard]] OnnxNetwork read_onnx(Bytes file, const std::string& name);

/// Recognises the network that `found` computes, and takes its weights: `preferred` where several networks compute the
/// same. Throws UsageError that names the network it resembles and where they differ. `source` is used in messages.
[[nodiscard]] Weights recognise_network(const OnnxNetwork& found, const std::string& source,
                                        network::NetworkKind preferred = {});

/// The weights of the model in `file`, whose operations must be `layers`. Throws as read_onnx.
[[nodiscard]] std::map<std::string, Convolution> convolutions_in(const std::filesystem::path& file,
                                                                 const network::Graph& layers);

/// Writes network and weights for other programs as an ONNX model (opset 17,
/// https://github.com/onnx/onnx/blob/main/docs/IR.md) with one input and one output, [batch, channels, height,
/// width] in float32. Batch, height and width are dynamic; height and width must be multiples of the network's
/// alignment. When the network takes a noise level, the input has one channel more than the image. `load_weights` can
/// read the file. Throws like AtomicFile.
void save_onnx(const Weights& weights, const std::filesystem::path& file);

/// The content of that file.
[[nodiscard]] std::string to_onnx(const Weights& weights);

}  // namespace pb::engine
