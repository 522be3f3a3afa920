// The constants of an ONNX model, by name.
#pragma once

#include "patchbench/engine/state_dict.hpp"

#include <onnx/onnx_pb.h>

#include <map>
#include <memory>
#include <string>

namespace pb::engine {

class OnnxTensors {
  public:
    explicit OnnxTensors(std::string file) : file_(std::move(file)) {}

    /// Throws UsageError for a type other than float, half, bfloat16 and double, for values that are in another file or
    /// not finite, or whose number does not fit the shape.
    void add(const std::string& name, const onnx::TensorProto& tensor);
    /// Adds another name for the tensor `name`.
    void add_alias(const std::string& alias, const std::string& name);

    [[nodiscard]] bool has(const std::string& name) const { return tensors_.contains(name); }
    /// Throws UsageError when there is no tensor of this name.
    [[nodiscard]] const NamedTensor& find(const std::string& name) const;

  private:
    [[noreturn]] void fail(const std::string& name, const std::string& reason) const;

    std::string file_;
    std::map<std::string, std::shared_ptr<const NamedTensor>> tensors_;
};

}  // namespace pb::engine
