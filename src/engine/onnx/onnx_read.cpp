// Makes a graph from the nodes of an ONNX model. Reading is strict: an operator that does more than an operation of the
// graph is refused.
#include "engine/onnx/onnx_model.hpp"
#include "engine/onnx/onnx_network.hpp"
#include "engine/onnx/onnx_tensors.hpp"
#include "engine/weights/batch_norm.hpp"
#include "network/graph_text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>

namespace pb::engine {
namespace {

using onnx::GraphProto;
using onnx::NodeProto;

class GraphReader {
  public:
    GraphReader(const GraphProto& graph, const std::string& file, size_t file_bytes)
        : graph_(graph), file_(file), file_bytes_(file_bytes), tensors_(file) {}

    [[nodiscard]] OnnxNetwork read() {
        for (const auto& tensor : graph_.initializer()) tensors_.add(tensor.name(), tensor);
        read_input();
        for (const NodeProto& proto : graph_.node()) {
            OnnxNode node(proto, file_);
            read_node(node);
            node.expect_nothing_else();
        }
        return finish();
    }

  private:
    [[noreturn]] void fail(const std::string& reason) const { throw UsageError(file_ + ": " + reason); }

    void read_input() {
        const std::vector<const onnx::ValueInfoProto*> inputs = inputs_of(graph_);
        if (inputs.size() != 1)
            fail(fmt::format(
                "a model of {} inputs: it must have one, the image (where the network takes a noise level, as "
                "its last channel)",
                inputs.size()));
        const auto& shape = inputs.front()->type().tensor_type().shape();
        if (shape.dim_size() != 4 || shape.dim(1).dim_value() < 1)
            fail("its input must have the shape [batch, channels, height, width] with a fixed number of channels");
        append({.kind = network::OperationKind::input, .channels = shape.dim(1).dim_value()}, inputs.front()->name());
    }

    void read_node(OnnxNode& node) {
        node.demand(operations_.size() < kMostOperations, "more operations than any network here");
        node.demand(node.domain().empty(), "an operator of the domain " + shown(node.domain()) +
                                               ": write its functions out first (onnx.inliner)");
        const std::string& type = node.type();
        if (type == "Conv") return read_convolution(node, network::OperationKind::convolution);
        if (type == "ConvTranspose") return read_convolution(node, network::OperationKind::transposed_convolution);
        if (type == "BatchNormalization") return read_norm(node);
        if (type == "Relu") return append_of(node, network::OperationKind::relu, 1);
        if (type == "Add") return append_of(node, network::OperationKind::add, 2);
        if (type == "Sub") return append_of(node, network::OperationKind::subtract, 2);
        if (type == "Concat") return read_concatenation(node);
        if (type == "MaxPool") return read_pooling(node);
        if (type == "Resize") return read_resize(node);
        if (type == "Constant") return read_constant(node);
        if (type == "Identity" || type == "Dropout") return read_identity(node);
        node.demand(false,
                    "an operator that is not known here (Conv, ConvTranspose, BatchNormalization, Relu, Add, Sub, "
                    "Concat, MaxPool, Resize); export it in eval mode, with constants folded, and sizes as factors");
    }

    void read_convolution(OnnxNode& node, network::OperationKind kind) {
        const std::string& name = node.input(1);
        const std::vector<int64_t>& shape = tensors_.find(name).shape;
        const std::vector<float>& values = tensors_.find(name).values;
        node.demand(shape.size() == 4 && shape[2] == shape[3], "its weights are no square kernels");
        node.demand(!values.empty(), "its weights are empty");
        const bool transposed = kind == network::OperationKind::transposed_convolution;
        Convolution convolution{{.out_channels = shape[transposed ? 1 : 0],
                                 .in_channels = shape[transposed ? 0 : 1],
                                 .kernel = shape[2],
                                 .stride = convolution_stride(node, shape[2]),
                                 .transposed = transposed},
                                values,
                                {}};
        if (node.has_input(2)) convolution.bias = tensors_.find(node.input(2)).values;
        const auto num_biases = static_cast<int64_t>(convolution.bias.size());
        node.demand(num_biases == 0 || num_biases == convolution.out_channels, "its bias has not one value a channel");
        num_values_ += values.size();
        node.demand(num_values_ <= kMostValuesPerByte * (file_bytes_ + tensors_.num_external_bytes()),
                    "its weights and those before are more than the file can need");
        const size_t operand = map_of(node, 0);
        const network::Filter filter{.weights = unused_name(name),
                                     .kernel = convolution.kernel,
                                     .stride = convolution.stride,
                                     .has_bias = num_biases > 0};
        append({kind, {operand}, convolution.out_channels, filter}, node.only_output());
        convolutions_.emplace(filter.weights, std::move(convolution));
    }

    /// The name of weights as a word, without the ending `.weight`. Where another node uses them already it is a new
    /// one: in a graph the name of each filter is unique.
    [[nodiscard]] std::string unused_name(std::string_view name) const {
        constexpr std::string_view kEnding = ".weight";
        if (name.ends_with(kEnding)) name.remove_suffix(kEnding.size());
        std::string word = network::word_of(name);
        while (convolutions_.contains(word)) word += fmt::format(".node{}", operations_.size());
        return word;
    }

    void read_norm(OnnxNode& node) {
        const size_t index = map_of(node, 0);
        node.demand(network::is_convolution(operations_[index].kind) && !read_.contains(index),
                    "does not follow a convolution that nothing else reads");
        const auto part = [&](int i) -> const std::vector<float>& { return tensors_.find(node.input(i)).values; };
        Convolution& convolution = convolutions_.at(operations_[index].filter->weights);
        for (int i = 1; i <= 4; ++i)
            node.demand(static_cast<int64_t>(part(i).size()) == convolution.out_channels,
                        "a part that has not one value a channel");
        node.demand(!convolution.transposed, "follows a transposed convolution");
        const double eps = node.number("epsilon", 1e-5F);
        node.expect("training_mode", 0);
        node.ignore("momentum");  // matters in training only
        for (const float variance : part(4)) node.demand(double{variance} + eps > 0, "a negative variance");
        fold({part(1), part(2), part(3), part(4), eps}, convolution);
        operations_[index].filter->has_bias = true;
        for (const auto& [name, map] : maps_)
            if (map == index) without_norm_.insert(name);
        std::erase_if(maps_, [&](const auto& name) { return name.second == index; });
        rename(node, index);
    }

    void read_concatenation(OnnxNode& node) {
        const int64_t axis = node.integer("axis", 0);
        node.demand(axis == 1 || axis == -3, fmt::format("axis {}: only channels (1) can be joined here", axis));
        if (node.num_inputs() == 1) return rename(node, map_of(node, 0));
        append_of(node, network::OperationKind::concatenate, node.num_inputs());
    }

    void read_pooling(OnnxNode& node) {
        require_2x2_pooling(node);
        append_of(node, network::OperationKind::max_pool, 1);
    }

    /// Accepts a resize that repeats each sample twice; ONNX has several ways to express it.
    void read_resize(OnnxNode& node) {
        node.demand(!node.has_input(3), "a resize to given sizes; export it with the scale factor 2");
        node.demand(tensors_.find(node.input(2)).values == std::vector<float>{1, 1, 2, 2},
                    "scales other than 1, 1, 2, 2");
        const std::string mode = node.text("mode", "nearest");
        const std::string places = node.text("coordinate_transformation_mode", "half_pixel");
        const std::string rounding = node.text("nearest_mode", "round_prefer_floor");
        const bool is_half = places == "half_pixel" || places == "pytorch_half_pixel";
        const bool repeats = (is_half && (rounding == "round_prefer_floor" || rounding == "round_prefer_ceil")) ||
                             (places == "asymmetric" && (rounding == "round_prefer_floor" || rounding == "floor"));
        node.demand(mode == "nearest" && repeats,
                    fmt::format("{}, {}, {}: only one that repeats each sample can be computed here", shown(mode),
                                shown(places), shown(rounding)));
        node.ignore("cubic_coeff_a");
        node.ignore("exclude_outside");
        node.ignore("extrapolation_value");
        node.expect("antialias", 0);
        node.ignore("keep_aspect_ratio_policy");
        append({.kind = network::OperationKind::upsample, .operands = {map_of(node, 0)}}, node.only_output());
    }

    void read_constant(OnnxNode& node) {
        if (const onnx::TensorProto* tensor = node.tensor("value")) tensors_.add(node.only_output(), *tensor);
    }

    void read_identity(OnnxNode& node) {
        node.ignore("seed");
        const bool is_dropout = node.type() == "Dropout";
        node.ignore("ratio");
        node.demand(!is_dropout || !node.has_input(2), "is told whether it trains; export the model in eval mode");
        if (tensors_.has(node.input(0))) return tensors_.add_alias(node.only_output(), node.input(0));
        rename(node, map_of(node, 0));
    }

    void append_of(OnnxNode& node, network::OperationKind kind, int num_operands) {
        node.demand(node.num_inputs() == num_operands, fmt::format("has {} inputs", node.num_inputs()));
        std::vector<size_t> operands;
        operands.reserve(static_cast<size_t>(num_operands));
        for (int i = 0; i < num_operands; ++i) operands.push_back(map_of(node, i));
        append({.kind = kind, .operands = std::move(operands)}, node.only_output());
    }

    [[nodiscard]] size_t map_of(const OnnxNode& node, int input) const {
        const std::string& name = node.input(input);
        const auto found = maps_.find(name);
        const bool is_map = found != maps_.end();
        node.demand(!without_norm_.contains(name),
                    "its input " + shown(name) + " is a convolution before its batch norm, which is folded into it");
        node.demand(is_map || !tensors_.has(name), "its input " + shown(name) + " is a constant");
        node.demand(is_map, "its input " + shown(name) + " is no map that was computed before");
        return found->second;
    }

    void rename(const OnnxNode& node, size_t index) { add_name(node.only_output(), index); }

    void append(network::Operation operation, const std::string& output) {
        add_name(output, operations_.size());
        read_.insert(operation.operands.begin(), operation.operands.end());
        operations_.push_back(std::move(operation));
    }

    void add_name(const std::string& name, size_t index) {
        if (!names_.insert(name).second) fail("two nodes make " + shown(name));
        maps_.emplace(name, index);
    }

    /// Leaves out operations that the output does not need.
    [[nodiscard]] OnnxNetwork finish() {
        if (graph_.output_size() != 1)
            fail(fmt::format("a model of {} outputs: it must have one", graph_.output_size()));
        const auto output = maps_.find(graph_.output(0).name());
        if (output == maps_.end()) fail("no node makes its output " + shown(graph_.output(0).name()));
        std::vector<bool> is_needed(operations_.size());
        is_needed.front() = is_needed[output->second] = true;
        for (size_t i = output->second; i > 0; --i)
            if (is_needed[i])
                for (const size_t operand : operations_[i].operands) is_needed[operand] = true;
        std::vector<network::Operation> kept;
        std::vector<size_t> place(operations_.size());
        for (size_t i = 0; i <= output->second; ++i) {
            if (!is_needed[i]) continue;
            place[i] = kept.size();
            kept.push_back(operations_[i]);
            for (size_t& operand : kept.back().operands) operand = place[operand];
        }
        return {make_graph(std::move(kept)), std::move(convolutions_), {}};
    }

    [[nodiscard]] network::Graph make_graph(std::vector<network::Operation> operations) const {
        try {
            network::Graph graph(std::move(operations));
            check_channels(graph);
            return graph;
        } catch (const UsageError&) {
            throw;
        } catch (const Error& error) {
            fail(error.what());
        }
    }

    /// The graph has the output channels of a convolution only; this checks the input channels of its weights.
    void check_channels(const network::Graph& graph) const {
        for (size_t i = 0; i < graph.size(); ++i) {
            if (!network::is_convolution(graph[i].kind)) continue;
            const int64_t has = graph.shape(graph[i].operands.front()).channels;
            const int64_t takes = convolutions_.at(graph[i].filter->weights).in_channels;
            if (has != takes) fail(fmt::format("{}: takes {} channels and gets {}", describe(graph[i], i), takes, has));
        }
    }

    static constexpr size_t kMostOperations = 4096;
    static constexpr size_t kMostValuesPerByte = 8;  // nodes may share their weights

    const GraphProto& graph_;
    const std::string& file_;
    size_t file_bytes_;
    size_t num_values_ = 0;
    OnnxTensors tensors_;
    std::map<std::string, size_t> maps_;  // name of a value -> operation that makes it
    std::set<std::string> names_;         // names of all values so far
    std::set<std::string> without_norm_;  // names of convolutions before their batch norm
    std::set<size_t> read_;               // operations that another one reads
    std::vector<network::Operation> operations_;
    std::map<std::string, Convolution> convolutions_;
};

}  // namespace

bool is_onnx(Bytes file) {
    constexpr auto kVersionField = std::byte{0x08};  // field 1, type integer
    constexpr auto kMostVersions = std::byte{0x20};
    constexpr size_t kLengthBytes = 8;  // safetensors may begin alike: with a length below 16 MiB in 8 bytes
    const auto begin = file.first(std::min(file.size(), kLengthBytes));
    return begin.size() > 3 && begin[0] == kVersionField && begin[1] > std::byte{0} && begin[1] < kMostVersions &&
           std::ranges::any_of(begin.subspan(3), [](std::byte each) { return each != std::byte{0}; });
}

OnnxNetwork read_onnx(Bytes file, const std::string& name) {
    if (file.size() > std::numeric_limits<int>::max())
        throw UsageError(name + ": an ONNX model of more than 2 GB; such a file is damaged, or no network here");
    const onnx::ModelProto model = parse_onnx(file, name);
    check_opset(model, name);
    OnnxNetwork network = GraphReader(model.graph(), name, file.size()).read();
    network.metadata = metadata_of(model);
    return network;
}

}  // namespace pb::engine
