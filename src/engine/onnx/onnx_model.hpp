// An ONNX file as a message of protobuf, and its nodes.
#pragma once

#include "engine/checkpoint/checkpoint_file.hpp"
#include "engine/weights/noise_metadata.hpp"

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace pb::engine {

/// `file`: at most 2 GB, which is all that protobuf takes. Throws UsageError that names the file where it is no model.
[[nodiscard]] onnx::ModelProto parse_onnx(Bytes file, const std::string& name);

/// The content of `file`. Throws UsageError unless it may be an ONNX model that protobuf takes.
[[nodiscard]] std::vector<std::byte> read_onnx_file(const std::filesystem::path& file);
[[nodiscard]] onnx::ModelProto load_onnx(const std::filesystem::path& file);

/// Throws UsageError where the operators of the model's opset may mean something else than onnx_read.cpp takes them
/// for.
void check_opset(const onnx::ModelProto& model, const std::string& name);

/// `metadata_props`.
[[nodiscard]] Metadata metadata_of(const onnx::ModelProto& model);

/// The inputs that are no constants.
[[nodiscard]] std::vector<const onnx::ValueInfoProto*> inputs_of(const onnx::GraphProto& graph);

using Integers = std::vector<int64_t>;

/// A node of an ONNX model with its attributes by name. expect_nothing_else() refuses attributes that were not read,
/// because they could change the result. All errors are UsageErrors that name the file and the node.
class OnnxNode {
  public:
    /// Both arguments must outlive the object.
    OnnxNode(const onnx::NodeProto& node, const std::string& file);

    [[nodiscard]] const std::string& type() const { return node_.op_type(); }
    /// Domain of the operator; empty for ONNX's own.
    [[nodiscard]] std::string domain() const { return node_.domain() == "ai.onnx" ? "" : node_.domain(); }
    [[nodiscard]] int num_inputs() const { return node_.input_size(); }
    [[nodiscard]] bool has_input(int i) const { return i < num_inputs() && !node_.input(i).empty(); }
    /// Throws when there is no such input.
    [[nodiscard]] const std::string& input(int i) const;
    /// Throws unless there is exactly one output.
    [[nodiscard]] const std::string& only_output() const;

    /// The attribute, or `otherwise` when it is absent.
    [[nodiscard]] int64_t integer(const std::string& name, int64_t otherwise);
    [[nodiscard]] double number(const std::string& name, double otherwise);
    [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise);
    [[nodiscard]] Integers integers(const std::string& name, const Integers& otherwise);
    /// Null when it is absent.
    [[nodiscard]] const onnx::TensorProto* tensor(const std::string& name);

    /// Throws unless the attribute is `wanted` or absent.
    void expect(const std::string& name, int64_t wanted);
    void expect(const std::string& name, const Integers& wanted);
    /// Accepts an attribute that has no effect on inference.
    void ignore(const std::string& name) { unread_.erase(name); }
    void expect_nothing_else() const;

    void demand(bool condition, const std::string& reason) const;

  private:
    const onnx::AttributeProto* take(const std::string& name);

    const onnx::NodeProto& node_;
    const std::string& file_;
    std::set<std::string> unread_;
};

/// Stride of a convolution with this kernel. Throws UsageError for attributes that a `Filter` of that kernel does not
/// have.
[[nodiscard]] int64_t convolution_stride(OnnxNode& node, int64_t kernel);

/// Throws UsageError unless the node pools 2x2 pixels with stride 2.
void require_2x2_pooling(OnnxNode& node);

}  // namespace pb::engine
