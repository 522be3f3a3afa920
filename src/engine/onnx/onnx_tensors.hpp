// The constants of an ONNX model, by name. They may lie in files beside it, where PyTorch's exporter puts them:
// https://github.com/onnx/onnx/blob/main/docs/ExternalData.md.
#pragma once

#include "patchbench/engine/weights.hpp"

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace pb::engine {

/// The files that tensors of the model lie in, those of nodes and their graphs included. `model`: the file with the
/// model, in whose folder (or below) the others must lie. Throws UsageError with the reason alone.
[[nodiscard]] std::set<std::filesystem::path> external_files(const onnx::GraphProto& graph,
                                                             const std::filesystem::path& model);

class OnnxTensors {
  public:
    /// `file`: the model's, for messages and for weights in files beside it.
    explicit OnnxTensors(std::string file) : file_(std::move(file)) {}

    /// Throws UsageError for a type other than float, half, bfloat16 and double, for values that are not finite, whose
    /// number does not fit the shape, or that cannot be read from the file that they lie in.
    void add(const std::string& name, const onnx::TensorProto& tensor);
    /// Adds another name for the tensor `name`.
    void add_alias(const std::string& alias, const std::string& name);

    [[nodiscard]] size_t num_external_bytes() const { return num_external_bytes_; }
    [[nodiscard]] bool has(const std::string& name) const { return tensors_.contains(name); }
    /// Throws UsageError when there is no tensor of this name.
    [[nodiscard]] const NamedTensor& find(const std::string& name) const;

  private:
    [[noreturn]] void fail(const std::string& name, const std::string& reason) const;

    std::vector<std::byte> external_bytes(const std::string& name, const onnx::TensorProto& tensor, int64_t num_bytes);

    std::string file_;
    size_t num_external_bytes_ = 0;
    std::map<std::string, std::shared_ptr<const NamedTensor>> tensors_;
};

}  // namespace pb::engine
