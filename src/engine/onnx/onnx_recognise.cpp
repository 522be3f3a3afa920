// Recognises which network an ONNX model computes, by its operations, since names are arbitrary. Each network guesses
// its size in the model; the graph of that size is compared with the model's from the output to the input.
#include "engine/onnx/onnx_network.hpp"
#include "network/graph_facts.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

namespace pb::engine {
namespace {

/// Number of operations that only one of the graphs has, by kind, kernel, channels and scale.
int64_t num_unlike(const network::Graph& a, const network::Graph& b) {
    std::map<std::tuple<network::OperationKind, int64_t, int64_t, int64_t>, int64_t> surplus;
    const auto count = [&](const network::Graph& graph, int64_t step) {
        for (size_t i = 0; i < graph.size(); ++i) {
            const int64_t kernel = graph[i].filter ? graph[i].filter->kernel : 0;
            surplus[{graph[i].kind, kernel, graph.shape(i).channels, graph.shape(i).scale}] += step;
        }
    };
    count(a, 1);
    count(b, -1);
    return std::accumulate(surplus.begin(), surplus.end(), int64_t{0},
                           [](int64_t sum, const auto& item) { return sum + std::abs(item.second); });
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

[[noreturn]] void refuse(const std::vector<network::NetworkShape>& shapes, const network::Graph& found,
                         const std::string& source) {
    const auto nearest = std::ranges::min_element(
        shapes, {}, [&](const network::NetworkShape& shape) { return num_unlike(network::graph_of(shape), found); });
    const network::Graph graph = network::graph_of(*nearest);
    Pairing pairing(graph, found);
    pairing.run();
    throw UsageError(
        fmt::format("{}: no network that is known here ({}). It resembles {} ({}), but has {}. As a network of its own "
                    "it runs by --network {}",
                    source, names_of<network::NetworkKind>(", "), name_of(network::kind_of(*nearest)),
                    network::to_text(*nearest), pairing.difference(), source));
}

}  // namespace

Weights recognise_network(const OnnxNetwork& found, const std::string& source, network::NetworkKind preferred) {
    if (network::num_convolutions(found.graph) == 0)
        throw UsageError(source + ": a model without convolutions is no network here");
    std::vector<network::NetworkShape> shapes = network::sizes_in(found.graph);
    std::swap(shapes.front(), shapes[static_cast<size_t>(preferred)]);
    for (const network::NetworkShape& shape : shapes) {
        const network::Graph graph = network::graph_of(shape);
        Pairing pairing(graph, found.graph);
        if (!pairing.run()) continue;
        const std::string layout = fmt::format("{} (ONNX)", name_of(network::kind_of(shape)));
        Weights weights{.shape = shape, .source = source, .layout = layout, .trained = true};
        for (const size_t index : network::convolutions_of(graph))
            weights.convolutions[graph[index].filter->weights] =
                found.convolutions.at(found.graph[pairing.partner(index)].filter->weights);
        weights.sha256 = sha256_of_values(weights);
        return weights;
    }
    refuse(shapes, found.graph, source);
}

std::map<std::string, Convolution> convolutions_in(const std::filesystem::path& file, const network::Graph& layers) {
    OnnxNetwork found = read_onnx(read_file(file), file.string());
    if (found.graph != layers) throw UsageError(file.string() + ": has other layers than when it was looked at");
    std::map<std::string, Convolution> convolutions;
    for (const size_t index : network::convolutions_of(layers)) {
        const std::string& name = layers[index].filter->weights;
        convolutions.emplace(name, std::move(found.convolutions.at(name)));
    }
    return convolutions;
}

}  // namespace pb::engine
