#include "patchbench/network/dncnn.hpp"

#include "network/graph_facts.hpp"
#include "network/key_layout.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/graph_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::network {

namespace {

constexpr double kGainOfResidual = 0.1;  // a denoiser changes its input little

/// Convolution `i` of `depth`, as a checkpoint names it.
using FilterOf = Filter (*)(int64_t i, int64_t depth);

Filter deepinv_filter(int64_t i, int64_t depth) {
    return {.weights = i == 0           ? "in_conv"
                       : i == depth - 1 ? "out_conv"
                                        : fmt::format("conv_list.{}", i - 1),
            .has_bias = true};
}

/// KAIR: a Sequential of convolution, ReLU, convolution, ReLU, ...
Filter kair_merged_filter(int64_t i, int64_t) { return {.weights = fmt::format("model.{}", 2 * i), .has_bias = true}; }

/// A Sequential of convolution, ReLU, then convolution, batch norm, ReLU each, then the last convolution.
Filter filter_before_norm(std::string_view prefix, int64_t i, int64_t depth) {
    const int64_t index = i == 0 ? 0 : 3 * i - 1;
    Filter filter{.weights = fmt::format("{}{}", prefix, index)};
    if (i > 0 && i < depth - 1) filter.norm = fmt::format("{}{}", prefix, index + 1);
    return filter;
}

Filter kair_filter(int64_t i, int64_t depth) {
    Filter filter = filter_before_norm("model.", i, depth);
    filter.has_bias = true;
    return filter;
}

/// SaoYan/DnCNN-PyTorch and its successors; the common prefix `module.` of their keys has been removed.
Filter saoyan_filter(int64_t i, int64_t depth) { return filter_before_norm("dncnn.", i, depth); }

Graph chain(const DncnnShape& shape, FilterOf filter_of) {
    require(shape.depth >= 2, fmt::format("network: a dncnn of depth {}: it has at least 2 convolutions", shape.depth));
    GraphBuilder net;
    const size_t image = net.input(shape.channels);
    const int64_t last = shape.depth - 1;
    size_t x = image;
    for (int64_t i = 0; i < last; ++i) x = net.relu(net.convolve(x, shape.width, filter_of(i, shape.depth)));
    Filter filter = filter_of(last, shape.depth);
    filter.gain = kGainOfResidual;
    x = net.convolve(x, shape.channels, filter);
    if (shape.residual == DncnnResidual::add) net.add(x, image);
    if (shape.residual == DncnnResidual::subtract) net.subtract(image, x);
    return net.graph();
}

/// A family of checkpoints: the largest number behind `prefix` is `per_layer` * (depth - 1) - `before`.
struct Naming {
    const char* name;
    FilterOf filter_of;
    DncnnResidual residual;
    const char* prefix;
    int64_t per_layer, before;
    double eps = 1e-5;
};

/// KAIR's IRCNN has the names and shapes of a DnCNN of this depth.
constexpr int64_t kDepthOfIrcnn = 7;
constexpr const char* kIrcnnNote =
    "read as a DnCNN; KAIR's IRCNN has the same names and shapes but dilated convolutions, and would be computed wrong";

const Naming kNamings[] = {
    {"deepinv", deepinv_filter, DncnnResidual::add, "conv_list.", 1, 2},
    {"KAIR, batch norm merged", kair_merged_filter, DncnnResidual::subtract, "model.", 2, 0},
    {"KAIR, batch norm folded", kair_filter, DncnnResidual::subtract, "model.", 3, 1, 1e-4},
    {"Sequential without bias, batch norm folded", saoyan_filter, DncnnResidual::subtract, "dncnn.", 3, 1}};

}  // namespace

Graph DncnnShape::graph() const { return chain(*this, deepinv_filter); }

std::vector<KeyLayout> DncnnShape::layouts(const CheckpointTensors& tensors) const {
    std::vector<KeyLayout> layouts;
    for (const Naming& naming : kNamings) {
        DncnnShape found = *this;
        found.depth = std::max<int64_t>(2, (tensors.last_index(naming.prefix) + naming.before) / naming.per_layer + 1);
        const auto made_by = [&](int64_t index, int64_t otherwise) {
            return tensors.channels_made(naming.filter_of(index, found.depth).weights, otherwise);
        };
        found.width = made_by(0, found.depth > 2 ? made_by(1, width) : width);
        found.residual = naming.residual;
        const Graph graph = chain(found, naming.filter_of);
        const bool may_be_dilated = found.depth == kDepthOfIrcnn && naming.filter_of == kair_merged_filter;
        layouts.push_back(
            {fmt::format("dncnn ({})", naming.name), found, graph, naming.eps, may_be_dilated ? kIrcnnNote : ""});
    }
    return layouts;
}

DncnnShape DncnnShape::size_in(const Graph& graph) {
    const OperationKind last = graph[graph.output()].kind;
    const DncnnResidual residual = last == OperationKind::add        ? DncnnResidual::add
                                   : last == OperationKind::subtract ? DncnnResidual::subtract
                                                                     : DncnnResidual::none;
    return {graph.channels_out(), std::max<int64_t>(2, num_convolutions(graph)), widths_in(graph).front(), residual};
}

}  // namespace pb::network
