// Weights that lie in files beside an ONNX model, where PyTorch's exporter puts them:
// https://github.com/onnx/onnx/blob/main/docs/ExternalData.md.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <vector>

namespace pb::engine {

[[nodiscard]] bool is_external(const onnx::TensorProto& tensor);

/// The bytes of an external tensor, `num_bytes` of them. `model`: the file with the model, in whose folder (or below)
/// the other one must lie. Throws UsageError with the reason alone.
[[nodiscard]] std::vector<std::byte> read_external(const onnx::TensorProto& tensor, const std::filesystem::path& model,
                                                   int64_t num_bytes);

/// The files that tensors of the model lie in, those of nodes and their graphs included. Throws likewise.
[[nodiscard]] std::set<std::filesystem::path> external_files(const onnx::GraphProto& graph,
                                                             const std::filesystem::path& model);

}  // namespace pb::engine
