#include "base/atomic_file.hpp"
#include "engine/onnx/onnx_network.hpp"
#include "engine/weights/noise_metadata.hpp"
#include "network/graph_facts.hpp"
#include "network/receptive_field.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <span>

namespace pb::engine {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

constexpr int64_t kOpset = 17;
constexpr int64_t kFormat = 8;  // version of the file format of that opset
constexpr const char* kDoubling = "doubling";

AttributeProto& add_attribute(NodeProto& node, const std::string& name, AttributeProto::AttributeType type) {
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
}

void add_integers(NodeProto& node, const std::string& name, std::initializer_list<int64_t> values) {
    AttributeProto& attribute = add_attribute(node, name, AttributeProto::INTS);
    for (const int64_t value : values) attribute.add_ints(value);
}

void add_text(NodeProto& node, const std::string& name, const std::string& value) {
    add_attribute(node, name, AttributeProto::STRING).set_s(value);
}

void add_tensor(GraphProto& graph, const std::string& name, const std::vector<int64_t>& shape,
                const std::vector<float>& values) {
    TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(TensorProto::FLOAT);
    for (const int64_t extent : shape) tensor.add_dims(extent);
    const auto bytes = std::as_bytes(std::span(values));
    tensor.set_raw_data(bytes.data(), bytes.size());
}

void set_shape(onnx::ValueInfoProto& value, const std::string& name, int64_t channels) {
    value.set_name(name);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_param("batch");
    type.mutable_shape()->add_dim()->set_dim_value(channels);
    type.mutable_shape()->add_dim()->set_dim_param("height");
    type.mutable_shape()->add_dim()->set_dim_param("width");
}

struct Operator {
    network::OperationKind kind;
    const char* name;
};
constexpr std::array<Operator, 8> kOperators{{{network::OperationKind::convolution, "Conv"},
                                              {network::OperationKind::transposed_convolution, "ConvTranspose"},
                                              {network::OperationKind::relu, "Relu"},
                                              {network::OperationKind::add, "Add"},
                                              {network::OperationKind::subtract, "Sub"},
                                              {network::OperationKind::concatenate, "Concat"},
                                              {network::OperationKind::max_pool, "MaxPool"},
                                              {network::OperationKind::upsample, "Resize"}}};

std::string operator_of(network::OperationKind kind) {
    const auto* const found = std::ranges::find(kOperators, kind, &Operator::kind);
    require(found != kOperators.end(), "onnx: an input is no node");
    return found->name;
}

class GraphWriter {
  public:
    GraphWriter(const Weights& weights, GraphProto& out) : weights_(weights), graph_(weights.graph()), out_(out) {}

    void write() {
        out_.set_name(std::string(name_of(weights_.kind())));
        set_shape(*out_.add_input(), name_of_map(0), graph_.channels_in());
        set_shape(*out_.add_output(), name_of_map(graph_.output()), graph_.channels_out());
        for (size_t i = 1; i < graph_.size(); ++i) add_node(i);
    }

  private:
    [[nodiscard]] std::string name_of_map(size_t index) const {
        if (index == 0) return "input";
        if (index == graph_.output()) return "output";
        const network::Operation& operation = graph_[index];
        return operation.filter ? operation.filter->weights : fmt::format("{}_{}", name_of(operation.kind), index);
    }

    void add_node(size_t index) {
        const network::Operation& operation = graph_[index];
        NodeProto& node = *out_.add_node();
        node.set_op_type(operator_of(operation.kind));
        node.set_name(operation.filter ? operation.filter->weights : name_of_map(index));
        for (const size_t operand : operation.operands) node.add_input(name_of_map(operand));
        node.add_output(name_of_map(index));
        if (operation.filter) add_filter(node, index);
        if (operation.kind == network::OperationKind::concatenate)
            add_attribute(node, "axis", AttributeProto::INT).set_i(1);
        if (operation.kind == network::OperationKind::max_pool) {
            add_integers(node, "kernel_shape", {2, 2});
            add_integers(node, "strides", {2, 2});
        }
        if (operation.kind == network::OperationKind::upsample) add_doubling(node);
    }

    void add_filter(NodeProto& node, size_t index) {
        const network::Filter& filter = *graph_[index].filter;
        const Convolution& convolution = weights_.convolution(filter.weights);
        const int64_t pad = filter.padding();
        add_integers(node, "kernel_shape", {filter.kernel, filter.kernel});
        add_integers(node, "strides", {filter.stride, filter.stride});
        add_integers(node, "pads", {pad, pad, pad, pad});
        node.add_input(filter.weights + ".weight");
        add_tensor(out_, filter.weights + ".weight", network::tensor_shapes(graph_, index).weight_shape(),
                   convolution.weight);
        if (convolution.bias.empty()) return;
        node.add_input(filter.weights + ".bias");
        add_tensor(out_, filter.weights + ".bias", {convolution.out_channels}, convolution.bias);
    }

    void add_doubling(NodeProto& node) {
        add_text(node, "mode", "nearest");
        add_text(node, "coordinate_transformation_mode", "asymmetric");
        add_text(node, "nearest_mode", "floor");
        node.add_input("");  // region of interest: unused in this mode
        node.add_input(kDoubling);
        if (!has_doubling_) add_tensor(out_, kDoubling, {4}, {1, 1, 2, 2});
        has_doubling_ = true;
    }

    const Weights& weights_;
    const network::Graph graph_;
    GraphProto& out_;
    bool has_doubling_ = false;
};

void add_metadata(ModelProto& model, const std::string& key, const std::string& value) {
    auto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
}

std::string describe_input(const network::Graph& graph) {
    const std::string image = fmt::format("{} image channels in [0,1]", graph.channels_out());
    return network::takes_sigma(graph) ? image + ", then a channel that holds sigma in the same units everywhere"
                                       : image;
}

}  // namespace

std::string to_onnx(const Weights& weights) {
    const network::Graph graph = weights.graph();
    ModelProto model;
    model.set_ir_version(kFormat);
    model.set_producer_name("patchbench");
    auto& opset = *model.add_opset_import();
    opset.set_domain("");
    opset.set_version(kOpset);
    GraphWriter(weights, *model.mutable_graph()).write();
    const int64_t multiple = network::alignment_of(graph);
    add_metadata(model, "network", std::string(name_of(weights.kind())));
    if (!weights.card) add_metadata(model, "shape", network::to_text(weights.shape));
    add_metadata(model, "input", describe_input(graph));
    add_metadata(model, "extents", fmt::format("multiples of {}", multiple));
    add_metadata(model, "weights_sha256", weights.sha256);
    for (const auto& [key, value] : training_noise_of(weights)) add_metadata(model, key, value);
    std::string bytes = model.SerializeAsString();
    if (bytes.empty()) throw Error("onnx: the model could not be serialised; is it larger than 2 GB?");
    return bytes;
}

void save_onnx(const Weights& weights, const std::filesystem::path& file) { write_whole(file, to_onnx(weights)); }

}  // namespace pb::engine
