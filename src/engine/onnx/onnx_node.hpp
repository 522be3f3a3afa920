// A node of an ONNX model with its attributes by name. Those that nobody asked for are refused in the end, because they
// would change the result. All errors are UsageErrors that name the file and the node.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace pb {

using Integers = std::vector<int64_t>;

class OnnxNode {
  public:
    /// Both must live as long as this.
    OnnxNode(const onnx::NodeProto& node, const std::string& file);

    [[nodiscard]] const std::string& type() const { return node_.op_type(); }
    /// Whose operator it is; empty: ONNX's own.
    [[nodiscard]] std::string domain() const { return node_.domain() == "ai.onnx" ? "" : node_.domain(); }
    [[nodiscard]] int num_inputs() const { return node_.input_size(); }
    [[nodiscard]] bool has_input(int i) const { return i < num_inputs() && !node_.input(i).empty(); }
    /// Throws where there is no such input.
    [[nodiscard]] const std::string& input(int i) const;
    /// Throws where there is none, or another one beside it.
    [[nodiscard]] const std::string& only_output() const;

    /// The attribute, or `otherwise` where it is not there.
    [[nodiscard]] int64_t integer(const std::string& name, int64_t otherwise);
    [[nodiscard]] double number(const std::string& name, double otherwise);
    [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise);
    [[nodiscard]] Integers integers(const std::string& name, const Integers& otherwise);
    /// Null where it is not there.
    [[nodiscard]] const onnx::TensorProto* tensor(const std::string& name);

    /// The attribute is `wanted` or not there.
    void expect(const std::string& name, int64_t wanted);
    void expect(const std::string& name, const Integers& wanted);
    /// An attribute without effect on the result of an inference.
    void ignore(const std::string& name) { unread_.erase(name); }
    void expect_nothing_else() const;

    void demand(bool condition, const std::string& reason) const;

  private:
    const onnx::AttributeProto* take(const std::string& name);

    const onnx::NodeProto& node_;
    const std::string& file_;
    std::set<std::string> unread_;
};

}  // namespace pb
