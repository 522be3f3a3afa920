// Recognises which network an ONNX model computes, by its operations, since names are arbitrary. Each network guesses
// its size in the model; the graph of that size is compared with the model's from the output to the input.
#include "engine/onnx/onnx_network.hpp"
#include "network/graph_facts.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace pb {
namespace {

using Kinds = std::multiset<std::tuple<OperationKind, int64_t, int64_t, int64_t>>;

/// Kind, kernel, channels and scale of all operations.
Kinds kinds_of(const Graph& graph) {
    Kinds kinds;
    for (size_t i = 0; i < graph.size(); ++i) {
        const auto& [channels, scale] = graph.shape(i);
        kinds.emplace(graph[i].kind, graph[i].filter.value_or(Filter{}).kernel, channels, scale);
    }
    return kinds;
}

/// Share of the operations that both have, of those that either has: 1 where no operation is alone.
double likeness(const Kinds& a, const Kinds& b) {
    std::vector<Kinds::value_type> common;
    std::ranges::set_intersection(a, b, std::back_inserter(common));
    return static_cast<double>(common.size()) / static_cast<double>(a.size() + b.size() - common.size());
}

/// What each network would be in `found`, from the one most alike; `preferred` comes first among equals.
std::vector<NetworkShape> resembled_shapes(const Graph& found, NetworkKind preferred) {
    std::vector<NetworkShape> shapes = sizes_in(found);
    std::swap(shapes.front(), shapes[static_cast<size_t>(preferred)]);
    const Kinds kinds = kinds_of(found);
    std::ranges::stable_sort(shapes, std::greater{},
                             [&](const NetworkShape& shape) { return likeness(kinds, kinds_of(graph_of(shape))); });
    return shapes;
}

/// Pairs each operation of one graph with the operation of the other graph that computes the same.
class Pairing {
  public:
    Pairing(const Graph& known, const Graph& found) : known_(known), found_(found), partners_(known.size()) {}

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
        if (known_[known].kind == OperationKind::add && !are_alike(operands[0], others[0]))
            std::swap(others[0], others[1]);
        for (size_t i = 0; i < operands.size(); ++i)
            if (!pair(operands[i], others[i])) return false;
        return true;
    }

    /// Compares two operations and the kinds of their operands. The file may lack a bias that the network has, but not
    /// the other way round.
    [[nodiscard]] bool are_alike(size_t known, size_t found) const {
        const Operation &a = known_[known], &b = found_[found];
        if (a.kind != b.kind || known_.shape(known) != found_.shape(found) || a.operands.size() != b.operands.size())
            return false;
        if (!a.filter) return true;
        return a.filter->kernel == b.filter->kernel && a.filter->stride == b.filter->stride &&
               (a.filter->has_bias || !b.filter->has_bias) &&
               known_[a.operands.front()].kind == found_[b.operands.front()].kind;
    }

    static std::string text_of(const Graph& graph, size_t index) {
        const auto& [channels, scale] = graph.shape(index);
        return fmt::format("{} of {} channels at scale {}", describe(graph[index], index), channels, scale);
    }

    const Graph& known_;
    const Graph& found_;
    std::vector<std::optional<size_t>> partners_;  // one for each operation of the known graph
    std::pair<size_t, size_t> differing_;
};

Weights weights_of(const NetworkShape& shape, const Pairing& pairing, const OnnxNetwork& found,
                   const std::string& source) {
    const std::string name{name_of(kind_of(shape))};
    Weights weights{.shape = shape, .source = source, .layout = name + " (ONNX)", .trained = true};
    const Graph graph = graph_of(shape);
    for (const size_t index : convolutions_of(graph))
        weights.convolutions[graph[index].filter->weights] =
            found.convolutions.at(found.graph[pairing.partner(index)].filter->weights);
    weights.sha256 = sha256_of_values(weights);
    return weights;
}

}  // namespace

Weights recognise_network(const OnnxNetwork& found, const std::string& source, NetworkKind preferred) {
    if (num_convolutions(found.graph) == 0)
        throw UsageError(source + ": a model without convolutions is no network here");
    std::optional<std::string> difference;  // to the network most alike
    for (const NetworkShape& shape : resembled_shapes(found.graph, preferred)) {
        const Graph graph = graph_of(shape);
        Pairing pairing(graph, found.graph);
        if (pairing.run()) return weights_of(shape, pairing, found, source);
        if (!difference)
            difference =
                fmt::format("{} ({}), but has {}", name_of(kind_of(shape)), to_text(shape), pairing.difference());
    }
    throw UsageError(fmt::format("{}: no network that is known here ({}). It resembles {}", source,
                                 names_of<NetworkKind>(", "), difference.value()));
}

}  // namespace pb
