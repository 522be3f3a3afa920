#include "patchbench/network/dncnn.hpp"

#include "network/graph_facts.hpp"
#include "network/key_layout.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pb::network {

namespace {

constexpr double kGainOfResidual = 0.1;  // a denoiser changes its input little
constexpr double kEps = 1e-5;            // of batch norm, unless a training code says another: files do not hold it
constexpr double kEpsOfAuthors = 1e-4;   // KAIR's, and that of the authors' training code
constexpr const char* kNamesNote =
    "read as a DnCNN, which names do not say: ReLU between the convolutions, whose output is taken from the input";

/// KAIR's IRCNN has the names and shapes of a DnCNN of this depth.
constexpr int64_t kDepthOfIrcnn = 7;
constexpr const char* kIrcnnNote =
    "read as a DnCNN; KAIR's IRCNN has the same names and shapes but dilated convolutions, and would be computed wrong";

/// What names leave open. `has_kairs_names`: those of its DnCNN without batch norm.
const char* names_note(bool has_kairs_names, int64_t depth) {
    return has_kairs_names && depth == kDepthOfIrcnn ? kIrcnnNote : kNamesNote;
}

/// Convolution `i` of `depth`, as a checkpoint names it.
using FilterOf = std::function<Filter(int64_t i, int64_t depth)>;

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

Graph chain(const DncnnShape& shape, const FilterOf& filter_of) {
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

std::string eps_note(double eps) {
    return fmt::format("batch norm is folded with eps {:g}, which the file does not hold", eps);
}

/// The convolutions of a Sequential that is written another way: any prefix, bias and batch norm where the file has
/// them.
struct Sequence {
    std::string prefix;
    std::vector<Filter> filters;
    std::string full_prefix;  // in the whole file

    [[nodiscard]] bool has_norm() const { return !filters[1].norm.empty(); }
    /// Whether the last part of the prefix is `name`: `netG.model.` is called model.
    [[nodiscard]] bool is_called(std::string_view name) const {
        return ("." + full_prefix).ends_with(fmt::format(".{}.", name));
    }
    /// KAIR and the authors' training code take 1e-4; a Sequential is taken for theirs by its name and biases.
    [[nodiscard]] double eps() const {
        const bool head = filters.front().has_bias, inner = filters[1].has_bias, tail = filters.back().has_bias;
        const bool is_kair = is_called("model") && head && inner && tail;
        const bool is_of_authors = is_called("dncnn") && head && !inner && !tail;
        return is_kair || is_of_authors ? kEpsOfAuthors : kEps;
    }
};

/// The filter `index` of the Sequential; none where there is no convolution.
std::optional<Filter> filter_at(const CheckpointTensors& tensors, const std::string& prefix, int64_t index) {
    const std::string name = fmt::format("{}{}", prefix, index), next = fmt::format("{}{}", prefix, index + 1);
    const auto weight = tensors.shapes.find(name + ".weight");
    if (weight == tensors.shapes.end() || weight->second.size() != 4) return std::nullopt;
    const bool has_norm = tensors.shapes.contains(next + ".running_mean");
    return Filter{.weights = name, .has_bias = tensors.shapes.contains(name + ".bias"), .norm = has_norm ? next : ""};
}

/// None where a layer is missing or like none of the others: then the file is damaged, or of another network.
std::optional<Sequence> find_sequence(const CheckpointTensors& tensors) {
    const auto first = std::ranges::find_if(
        tensors.shapes, [](const auto& item) { return item.first == "0.weight" || item.first.ends_with(".0.weight"); });
    if (first == tensors.shapes.end()) return std::nullopt;
    Sequence found{.prefix = first->first.substr(0, first->first.size() - std::string_view("0.weight").size()),
                   .filters = {},
                   .full_prefix = {}};
    const int64_t last = tensors.last_index(found.prefix);
    for (int64_t index = 0; index <= last;) {
        const auto filter = filter_at(tensors, found.prefix, index);
        if (!filter) return std::nullopt;
        index += filter->norm.empty() ? 2 : 3;  // an activation follows
        found.filters.push_back(*filter);
    }
    if (found.filters.size() < 3) return std::nullopt;
    const Filter& head = found.filters.front();
    const Filter& inner = found.filters[1];
    const Filter& tail = found.filters.back();
    const std::span between = std::span(found.filters).subspan(1, found.filters.size() - 2);
    const bool is_regular = std::ranges::all_of(between, [&](const Filter& filter) {
        return filter.has_bias == inner.has_bias && filter.norm.empty() == inner.norm.empty();
    });
    const bool lacks_bias = inner.has_bias && !(head.has_bias && tail.has_bias);
    if (!is_regular || lacks_bias || !head.norm.empty() || !tail.norm.empty()) return std::nullopt;
    found.full_prefix = tensors.under + found.prefix;
    return found;
}

/// `shape`: the channels of the image.
KeyLayout layout_of(const Sequence& sequence, DncnnShape shape, const CheckpointTensors& tensors) {
    shape.depth = std::ssize(sequence.filters);
    shape.width = tensors.channels_made(sequence.filters.front().weights, shape.width);
    shape.residual = DncnnResidual::subtract;
    const double eps = sequence.eps();
    std::string note = names_note(sequence.is_called("model") && !sequence.has_norm(), shape.depth);
    if (sequence.has_norm()) note += "; " + eps_note(eps);
    const auto filter_of = [&](int64_t i, int64_t) { return sequence.filters[static_cast<size_t>(i)]; };
    return {"dncnn (Sequential)", shape, chain(shape, filter_of), eps, note, true};
}

/// A family of checkpoints: the largest number behind `prefix` is `per_layer` * (depth - 1) - `before`.
struct Naming {
    const char* name;
    Filter (*filter_of)(int64_t i, int64_t depth);
    DncnnResidual residual;
    const char* prefix;
    int64_t per_layer, before;
};

const Naming kNamings[] = {
    {"deepinv", deepinv_filter, DncnnResidual::add, "conv_list.", 1, 2},
    {"KAIR, batch norm merged", kair_merged_filter, DncnnResidual::subtract, "model.", 2, 0},
    {"KAIR, batch norm folded", kair_filter, DncnnResidual::subtract, "model.", 3, 1},
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
        const double eps = naming.filter_of == kair_filter ? kEpsOfAuthors : kEps;
        std::string note = eps == kEps ? "" : eps_note(eps);
        const bool is_guess = naming.filter_of == kair_merged_filter;
        if (is_guess) note = names_note(true, found.depth);
        layouts.push_back({fmt::format("dncnn ({})", naming.name), found, graph, eps, note, is_guess});
    }
    if (const auto sequence = find_sequence(tensors)) layouts.push_back(layout_of(*sequence, *this, tensors));
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
