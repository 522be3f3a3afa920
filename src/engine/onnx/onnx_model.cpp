#include "engine/onnx/onnx_model.hpp"

#include "engine/onnx/onnx_network.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace pb::engine {

onnx::ModelProto parse_onnx(Bytes file, const std::string& name) {
    onnx::ModelProto model;
    if (!model.ParseFromArray(file.data(), static_cast<int>(file.size())) || !model.has_graph())
        throw UsageError(name + ": begins like an ONNX model, but is none: damaged or cut off");
    return model;
}

std::vector<std::byte> read_onnx_file(const std::filesystem::path& file) {
    std::vector<std::byte> bytes = read_file(file);
    if (!is_onnx(bytes)) throw UsageError(file.string() + ": is no ONNX model: empty, damaged, or another format");
    if (bytes.size() > std::numeric_limits<int>::max())
        throw UsageError(file.string() + ": an ONNX model of more than 2 GB: keep its weights in a file beside it");
    return bytes;
}

onnx::ModelProto load_onnx(const std::filesystem::path& file) {
    return parse_onnx(read_onnx_file(file), file.string());
}

void check_opset(const onnx::ModelProto& model, const std::string& name) {
    constexpr int64_t kOldestOpset = 11, kNewestOpset = 22;
    for (const auto& opset : model.opset_import()) {
        if (!opset.domain().empty() && opset.domain() != "ai.onnx") continue;
        if (opset.version() >= kOldestOpset && opset.version() <= kNewestOpset) return;
        throw UsageError(fmt::format("{}: opset {}: export it with one from {} to {}", name, opset.version(),
                                     kOldestOpset, kNewestOpset));
    }
    throw UsageError(name + ": names no opset of ONNX; it is damaged, or no ONNX model");
}

Metadata metadata_of(const onnx::ModelProto& model) {
    Metadata metadata;
    for (const auto& entry : model.metadata_props()) metadata[entry.key()] = entry.value();
    return metadata;
}

std::vector<const onnx::ValueInfoProto*> inputs_of(const onnx::GraphProto& graph) {
    std::set<std::string> constants;
    for (const auto& tensor : graph.initializer()) constants.insert(tensor.name());
    std::vector<const onnx::ValueInfoProto*> inputs;
    for (const auto& input : graph.input())
        if (!constants.contains(input.name())) inputs.push_back(&input);
    return inputs;
}

using onnx::AttributeProto;

OnnxNode::OnnxNode(const onnx::NodeProto& node, const std::string& file) : node_(node), file_(file) {
    for (const AttributeProto& attribute : node.attribute())
        demand(unread_.insert(attribute.name()).second, "has " + shown(attribute.name()) + " twice");
}

const std::string& OnnxNode::input(int i) const {
    demand(has_input(i), fmt::format("its input {} is missing", i));
    return node_.input(i);
}

const std::string& OnnxNode::only_output() const {
    demand(node_.output_size() >= 1, "has no output");
    for (int i = 1; i < node_.output_size(); ++i) demand(node_.output(i).empty(), "has more than one output");
    return node_.output(0);
}

int64_t OnnxNode::integer(const std::string& name, int64_t otherwise) {
    const AttributeProto* found = take(name);
    return found != nullptr ? found->i() : otherwise;
}

double OnnxNode::number(const std::string& name, double otherwise) {
    const AttributeProto* found = take(name);
    return found != nullptr ? double{found->f()} : otherwise;
}

std::string OnnxNode::text(const std::string& name, const std::string& otherwise) {
    const AttributeProto* found = take(name);
    return found != nullptr ? found->s() : otherwise;
}

Integers OnnxNode::integers(const std::string& name, const Integers& otherwise) {
    const AttributeProto* found = take(name);
    return found != nullptr ? Integers(found->ints().begin(), found->ints().end()) : otherwise;
}

const onnx::TensorProto* OnnxNode::tensor(const std::string& name) {
    const AttributeProto* found = take(name);
    return found != nullptr && found->has_t() ? &found->t() : nullptr;
}

void OnnxNode::expect(const std::string& name, int64_t wanted) {
    const int64_t found = integer(name, wanted);
    demand(found == wanted, fmt::format("{} {}: only {} can be computed here", shown(name), found, wanted));
}

void OnnxNode::expect(const std::string& name, const Integers& wanted) {
    const Integers found = integers(name, wanted);
    demand(found == wanted, fmt::format("{} [{}]: only [{}] can be computed here", shown(name), fmt::join(found, ", "),
                                        fmt::join(wanted, ", ")));
}

void OnnxNode::expect_nothing_else() const {
    if (!unread_.empty()) demand(false, "an attribute that is not known here: " + shown(*unread_.begin()));
}

void OnnxNode::demand(bool condition, const std::string& reason) const {
    if (condition) return;
    const bool is_named = !node_.name().empty() || node_.output_size() == 0;
    const std::string& name = is_named ? node_.name() : node_.output(0);
    throw UsageError(fmt::format("{}, node {} ({}): {}", file_, shown(name), shown(type()), reason));
}

const AttributeProto* OnnxNode::take(const std::string& name) {
    unread_.erase(name);
    const auto& all = node_.attribute();
    const auto found = std::ranges::find_if(all, [&](const auto& attribute) { return attribute.name() == name; });
    return found != all.end() ? &*found : nullptr;
}

int64_t convolution_stride(OnnxNode& node, int64_t kernel) {
    constexpr int64_t kLargestKernel = 3;
    node.demand(kernel <= kLargestKernel, fmt::format("a kernel of {}: only 1, 2 and 3 can be computed here", kernel));
    node.expect("kernel_shape", {kernel, kernel});
    node.expect("dilations", {1, 1});
    node.expect("group", 1);
    const std::string padding = node.text("auto_pad", "NOTSET");
    node.demand(padding == "NOTSET" || padding.empty(), "auto_pad " + shown(padding) + ": give pads instead");
    const int64_t pad = network::Filter{.weights = {}, .kernel = kernel}.padding();
    const Integers pads = node.integers("pads", {0, 0, 0, 0});
    node.demand(pads == Integers(4, pad),
                fmt::format("pads [{}]: a kernel of {} has {} on each side here", fmt::join(pads, ", "), kernel, pad));
    if (node.type() == "ConvTranspose") node.expect("output_padding", {0, 0});
    const Integers strides = node.integers("strides", {1, 1});
    node.demand(strides.size() == 2 && strides[0] == strides[1], "strides that are not equal");
    return strides[0];
}

void require_2x2_pooling(OnnxNode& node) {
    const Integers kernel = node.integers("kernel_shape", {});
    const Integers strides = node.integers("strides", {1, 1});
    node.demand(kernel == Integers{2, 2} && strides == kernel, "only 2x2 with stride 2 can be computed here");
    const std::string padding = node.text("auto_pad", "NOTSET");
    node.demand(padding == "NOTSET" || padding == "VALID" || padding.empty(), "auto_pad " + shown(padding));
    node.expect("pads", {0, 0, 0, 0});
    node.expect("dilations", {1, 1});
    node.expect("ceil_mode", 0);
    node.expect("storage_order", 0);
}

}  // namespace pb::engine
