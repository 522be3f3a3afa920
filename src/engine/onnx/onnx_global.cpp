// Whether an ONNX model has operations that see a whole window: its results then depend on all of it, although the
// windows that are tried may not show it, as those of a gate that stays closed.
#include "base/text.hpp"
#include "engine/network_file.hpp"
#include "engine/onnx/onnx_model.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

namespace pb::engine {
namespace {

constexpr std::array<std::string_view, 6> kGlobal{"GlobalAveragePool",  "GlobalMaxPool",
                                                  "GlobalLpPool",       "InstanceNormalization",
                                                  "GroupNormalization", "MeanVarianceNormalization"};

Integers integers_in(const onnx::TensorProto& tensor) {
    if (tensor.data_type() != onnx::TensorProto::INT64) return {};
    if (!tensor.has_raw_data()) return {tensor.int64_data().begin(), tensor.int64_data().end()};
    Integers values(tensor.raw_data().size() / sizeof(int64_t));
    if (!values.empty()) std::memcpy(values.data(), tensor.raw_data().data(), values.size() * sizeof(int64_t));
    return values;
}

/// Operations of one graph, and of those within its nodes.
class GlobalOperations {
  public:
    [[nodiscard]] std::string first_in(const onnx::GraphProto& graph) {
        for (const onnx::TensorProto& tensor : graph.initializer()) constants_[tensor.name()] = integers_in(tensor);
        return first_of(graph.node());
    }

    template <class Nodes>
    [[nodiscard]] std::string first_of(const Nodes& nodes) {
        for (const onnx::NodeProto& node : nodes) {
            keep_constant(node);
            if (is_global(node))
                return node.name().empty() ? node.op_type()
                                           : fmt::format("{} ({})", shown(node.name()), node.op_type());
            for (const onnx::AttributeProto& attribute : node.attribute())
                if (std::string found = attribute.has_g() ? first_in(attribute.g()) : ""; !found.empty()) return found;
        }
        return "";
    }

  private:
    void keep_constant(const onnx::NodeProto& node) {
        if (node.op_type() != "Constant" || node.output_size() != 1) return;
        for (const onnx::AttributeProto& attribute : node.attribute()) {
            if (attribute.name() == "value") constants_[node.output(0)] = integers_in(attribute.t());
            if (attribute.name() == "value_ints")
                constants_[node.output(0)] = {attribute.ints().begin(), attribute.ints().end()};
        }
    }

    [[nodiscard]] bool is_global(const onnx::NodeProto& node) const {
        if (std::ranges::find(kGlobal, node.op_type()) != kGlobal.end()) return true;
        return node.op_type().starts_with("Reduce") && reduces_images(node);
    }

    /// Over height and width, the last two axes of an image. Without axes it is over all.
    [[nodiscard]] bool reduces_images(const onnx::NodeProto& node) const {
        Integers axes;
        bool keeps_input_without_axes = false;
        for (const onnx::AttributeProto& attribute : node.attribute()) {
            if (attribute.name() == "axes") axes.assign(attribute.ints().begin(), attribute.ints().end());
            if (attribute.name() == "noop_with_empty_axes") keeps_input_without_axes = attribute.i() != 0;
        }
        if (node.input_size() > 1 && !node.input(1).empty()) {
            const auto known = constants_.find(node.input(1));
            if (known == constants_.end()) return false;  // computed: trying must tell
            axes = known->second;
        }
        if (axes.empty()) return !keeps_input_without_axes;
        const std::set<int64_t> all(axes.begin(), axes.end());
        const auto has = [&](int64_t axis) { return all.contains(axis) || all.contains(axis - 4); };
        return has(2) && has(3);
    }

    std::map<std::string, Integers> constants_;
};

}  // namespace

std::string global_operation_in(const std::filesystem::path& file) {
    const onnx::ModelProto model = load_onnx(file);
    GlobalOperations operations;
    std::string found = operations.first_in(model.graph());
    for (const onnx::FunctionProto& function : model.functions())
        if (found.empty()) found = GlobalOperations().first_of(function.node());
    return found;
}

}  // namespace pb::engine
