// Recognises which network an ONNX model computes, by its operations, since names are arbitrary. It guesses the size of
// the network, makes its graph, and compares both graphs from the output to the input.
#include "engine/onnx/onnx_network.hpp"
#include "network/graph_facts.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace pb::engine {
namespace {

/// Output channels of the first convolution at each scale, from full extent down.
std::vector<int64_t> widths_of(const network::Graph& graph) {
    std::vector<int64_t> widths;
    for (const size_t index : network::convolutions_of(graph)) {
        const auto& [channels, scale] = graph.shape(index);
        if (scale == int64_t{1} << widths.size()) widths.push_back(channels);
    }
    if (widths.empty()) widths.push_back(graph.channels_in());  // no network here starts with a smaller map
    return widths;
}

bool has(const network::Graph& graph, network::OperationKind kind) {
    for (size_t i = 0; i < graph.size(); ++i)
        if (graph[i].kind == kind) return true;
    return false;
}

bool has_kernel(const network::Graph& graph, int64_t kernel) {
    return std::ranges::any_of(network::convolutions_of(graph),
                               [&](size_t i) { return graph[i].filter->kernel == kernel; });
}

/// Each block has two convolutions. At the lowest scale there is one more, with stride 2; a network of one scale has
/// its first and its last convolution instead.
int64_t blocks_of(const network::Graph& graph) {
    int64_t smallest = 1;
    for (size_t i = 0; i < graph.size(); ++i) smallest = std::max(smallest, graph.shape(i).scale);
    const int64_t others = smallest > 1 ? 1 : 2;
    const int64_t there = std::ranges::count_if(network::convolutions_of(graph),
                                                [&](size_t i) { return graph.shape(i).scale == smallest; });
    return std::max<int64_t>(1, (there - others) / 2);
}

network::DncnnResidual residual_of(const network::Graph& graph) {
    switch (graph[graph.output()].kind) {
        case network::OperationKind::add:
            return network::DncnnResidual::add;
        case network::OperationKind::subtract:
            return network::DncnnResidual::subtract;
        default:
            return network::DncnnResidual::none;
    }
}

network::NetworkShape resembled_shape(const network::Graph& graph) {
    const int64_t channels = graph.channels_out();
    const std::vector<int64_t> widths = widths_of(graph);
    if (has(graph, network::OperationKind::max_pool) || has_kernel(graph, 1))
        return network::UnetShape{channels, widths};
    if (has(graph, network::OperationKind::transposed_convolution) || network::takes_sigma(graph))
        return network::DrunetShape{channels, widths, blocks_of(graph)};
    return network::DncnnShape{channels, std::max<int64_t>(2, network::num_convolutions(graph)), widths.front(),
                               residual_of(graph)};
}

/// Pairs each operation of one graph with the operation of the other graph that computes the same.
class Pairing {
  public:
    Pairing(const network::Graph& known, const network::Graph& found)
        : known_(known), found_(found), partners_(known.size()) {}

    /// Whether both graphs compute the same, apart from the values of weights.
    bool run() { return pair(known_.output(), found_.output()); }

    [[nodiscard]] size_t partner(size_t known) const { return partners_[known].value(); }

    /// The operations at which the comparison ended.
    [[nodiscard]] std::string difference() const {
        return text_of(found_, differing_.second) + " where " + text_of(known_, differing_.first) + " should be";
    }

  private:
    bool pair(size_t known, size_t found) {
        const auto partner = partners_[known];
        if (partner ? *partner != found : !are_alike(known, found)) {
            differing_ = {known, found};
            return false;
        }
        if (partner) return true;
        partners_[known] = found;
        const std::vector<size_t>& operands = known_[known].operands;
        std::vector<size_t> others = found_[found].operands;
        // In each network the summands differ in kind, or in the kind of their operands.
        if (known_[known].kind == network::OperationKind::add && !are_alike(operands[0], others[0]))
            std::swap(others[0], others[1]);
        for (size_t i = 0; i < operands.size(); ++i)
            if (!pair(operands[i], others[i])) return false;
        return true;
    }

    /// Compares two operations and the kinds of their operands. The file may lack a bias that the network has, but not
    /// the other way round.
    [[nodiscard]] bool are_alike(size_t known, size_t found) const {
        const network::Operation &a = known_[known], &b = found_[found];
        if (a.kind != b.kind || known_.shape(known) != found_.shape(found) || a.operands.size() != b.operands.size())
            return false;
        if (!a.filter) return true;
        return a.filter->kernel == b.filter->kernel && a.filter->stride == b.filter->stride &&
               (a.filter->has_bias || !b.filter->has_bias) &&
               known_[a.operands.front()].kind == found_[b.operands.front()].kind;
    }

    static std::string text_of(const network::Graph& graph, size_t index) {
        const auto& [channels, scale] = graph.shape(index);
        return fmt::format("{} of {} channels at scale {}", describe(graph[index], index), channels, scale);
    }

    const network::Graph& known_;
    const network::Graph& found_;
    std::vector<std::optional<size_t>> partners_;  // one for each operation of the known graph
    std::pair<size_t, size_t> differing_;
};

}  // namespace

Weights recognise_network(const OnnxNetwork& found, const std::string& source) {
    if (network::num_convolutions(found.graph) == 0)
        throw UsageError(source + ": a model without convolutions is no network here");
    const network::NetworkShape shape = resembled_shape(found.graph);
    const std::string name{name_of(network::kind_of(shape))};
    const network::Graph graph = network::graph_of(shape);
    Pairing pairing(graph, found.graph);
    if (!pairing.run())
        throw UsageError(
            fmt::format("{}: no network that is known here (drunet, unet, dncnn). It resembles {} ({}), but has {}",
                        source, name, network::to_text(shape), pairing.difference()));
    Weights weights{.shape = shape, .source = source, .layout = name + " (ONNX)", .trained = true};
    for (const size_t index : network::convolutions_of(graph))
        weights.convolutions[graph[index].filter->weights] =
            found.convolutions.at(found.graph[pairing.partner(index)].filter->weights);
    weights.sha256 = sha256_of_values(weights);
    return weights;
}

}  // namespace pb::engine
