// What an ONNX model shows without being read as a graph: what it takes and gives, by the declarations of its inputs
// and outputs, and whether it has operations that see a whole window. Its results then depend on all of it, although
// the windows that are tried may not show it, as those of a gate that stays closed.
#include "base/text.hpp"
#include "engine/network_file.hpp"
#include "engine/onnx/onnx_model.hpp"
#include "network/card/find_card.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string>
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

constexpr int kImageAxes = 4;
constexpr int kChannelAxis = 1;
constexpr int64_t kMostChannels = 4;  // of a colour image with a noise level

class SignatureReader {
  public:
    SignatureReader(const onnx::GraphProto& graph, const std::string& file) : graph_(graph), file_(file) {}

    [[nodiscard]] std::vector<network::NetworkCard> read() const {
        const auto inputs = inputs_of(graph_);
        if (inputs.empty() || inputs.size() > 2)
            fail(fmt::format("a model of {} inputs: it must take an image and, where it needs one, a noise level",
                             inputs.size()));
        if (graph_.output_size() != 1)
            fail(fmt::format("a model of {} outputs: it must give one image", graph_.output_size()));
        check_image(*inputs.front(), "input");
        check_image(graph_.output(0), "output");
        if (inputs.size() == 2) check_type(*inputs.back(), "second input");
        return candidates(channels_of(*inputs.front()), channels_of(graph_.output(0)), inputs.size() == 2);
    }

  private:
    [[noreturn]] void fail(const std::string& reason) const { throw UsageError(file_ + ": " + reason); }

    void check_type(const onnx::ValueInfoProto& value, const std::string& which) const {
        if (value.type().tensor_type().elem_type() != onnx::TensorProto::FLOAT)
            fail(fmt::format("its {} {} is not float32: export the network in float32", which, shown(value.name())));
    }

    void check_image(const onnx::ValueInfoProto& value, const std::string& which) const {
        check_type(value, which);
        if (!value.type().tensor_type().has_shape()) return;  // trying will tell
        const auto& shape = value.type().tensor_type().shape();
        if (shape.dim_size() != kImageAxes)
            fail(fmt::format("its {} {} has {} axes: an image is [batch, channels, height, width]", which,
                             shown(value.name()), shape.dim_size()));
        const int64_t height = shape.dim(2).dim_value(), width = shape.dim(3).dim_value();
        if (which != "input" || (height == 0 && width == 0)) return;
        if (height == 0 && width <= kMostChannels)
            fail(
                fmt::format("its input {} has {} in its last axis: an image is [batch, channels, height, width], "
                            "with the channels in front",
                            shown(value.name()), width));
        const auto text = [](int64_t extent) { return extent > 0 ? std::to_string(extent) : "any"; };
        fail(fmt::format("its input {} has a fixed size ({} x {}): export it with dynamic height and width",
                         shown(value.name()), text(height), text(width)));
    }

    /// 0: dynamic.
    [[nodiscard]] static int64_t channels_of(const onnx::ValueInfoProto& value) {
        const auto& shape = value.type().tensor_type().shape();
        return shape.dim_size() == kImageAxes ? shape.dim(kChannelAxis).dim_value() : 0;
    }

    [[nodiscard]] std::vector<network::NetworkCard> candidates(int64_t in, int64_t out, bool has_input) const {
        using network::SigmaInput;
        std::vector<network::NetworkCard> all;
        for (const int64_t channels : {3, 1})
            for (const SigmaInput sigma : {SigmaInput::none, SigmaInput::channel, SigmaInput::input}) {
                if ((sigma == SigmaInput::input) != has_input) continue;
                const int64_t taken = channels + (sigma == SigmaInput::channel ? 1 : 0);
                if ((in == 0 || in == taken) && (out == 0 || out == channels))
                    all.push_back({.channels = channels, .sigma = sigma});
            }
        if (all.empty())
            fail(network::channels_refusal(in, out) +
                 (has_input ? "; of two inputs the image is the first one, the noise level the second" : ""));
        return all;
    }

    const onnx::GraphProto& graph_;
    const std::string& file_;
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

std::vector<network::NetworkCard> candidates_in_onnx(const std::filesystem::path& file) {
    const onnx::ModelProto model = load_onnx(file);
    const std::string name = file.string();
    return SignatureReader(model.graph(), name).read();
}

}  // namespace pb::engine
