#include "network/graph_facts.hpp"

#include "network/receptive_field.hpp"

#include "patchbench/network/network_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace pb::network {

namespace {

/// Sum of `count(i)` over the operations that are convolutions.
template <class Count>
auto sum_over_convolutions(const Graph& graph, Count count) {
    decltype(count(size_t{0})) sum = 0;
    for (const size_t i : convolutions_of(graph)) sum += count(i);
    return sum;
}

const MapShape& operand_shape(const Graph& graph, size_t index) { return graph.shape(graph[index].operands.front()); }

std::string operation_text(const Graph& graph, const Step& step) {
    const Operation& first = graph[step.first];
    std::string text(name_of(first.kind));
    if (first.filter) {
        const TensorShapes shapes = tensor_shapes(graph, step.first);
        text += fmt::format(" {}x{}, {} to {}", shapes.kernel, shapes.kernel, shapes.in_channels, shapes.out_channels);
    }
    return step.is_fused() ? text + ", " + std::string(name_of(graph[step.last].kind)) : text;
}

NetworkFacts facts_of(NetworkKind kind, const Graph& graph) {
    const int64_t alignment = alignment_of(graph);
    return {.kind = kind,
            .alignment = alignment,
            .step = alignment,
            .receptive_radius = receptive_radius_of(graph),
            .exact_halo = exact_halo_of(graph),
            .takes_sigma = takes_sigma(graph),
            .parameters = parameters_of(graph),
            .mac_per_pixel = mac_per_pixel(graph),
            .values_per_pixel = values_moved_per_pixel(graph),
            .num_convolutions = num_convolutions(graph),
            .widest_map = widest_map_of(graph)};
}

NetworkFacts facts_of(const NetworkShape& shape) { return facts_of(kind_of(shape), graph_of(shape)); }

NetworkFacts facts_of(const NetworkCard& card) {
    if (card.layers) return facts_of(kCustomKind, *card.layers);
    return {.kind = kCustomKind,
            .alignment = card.alignment,
            .step = card.extent_step(),
            .receptive_radius = card.radius.value_or(0),
            .exact_halo = card.halo.value_or(0),
            .is_bounded = card.halo.has_value(),
            .most_windows = card.batch,
            .takes_sigma = card.sigma != SigmaInput::none,
            .widest_map = 1};
}

/// Facts of `key`, kept from call to call.
template <class Key>
const NetworkFacts& kept_facts(const Key& key) {
    static std::mutex mutex;
    static std::map<Key, NetworkFacts> known;
    const std::scoped_lock lock(mutex);
    const auto found = known.find(key);
    return found != known.end() ? found->second : known.emplace(key, facts_of(key)).first->second;
}

}  // namespace

int64_t TensorShapes::values() const { return weight_values() + (has_bias ? out_channels : 0); }

std::vector<int64_t> TensorShapes::weight_shape() const {
    if (transposed) return {in_channels, out_channels, kernel, kernel};
    return {out_channels, in_channels, kernel, kernel};
}

// In a transposed convolution whose stride equals its kernel, each output pixel has one tap.
int64_t TensorShapes::fan_in() const { return transposed ? in_channels : in_channels * kernel * kernel; }

TensorShapes tensor_shapes(const Graph& graph, size_t index) {
    const Operation& operation = graph[index];
    const Filter& filter = *operation.filter;
    return {{.out_channels = operation.channels,
             .in_channels = operand_shape(graph, index).channels,
             .kernel = filter.kernel,
             .stride = filter.stride,
             .transposed = operation.kind == OperationKind::transposed_convolution},
            filter.has_bias,
            filter.norm};
}

std::map<std::string, TensorShapes> checkpoint_shapes(const Graph& graph) {
    std::map<std::string, TensorShapes> shapes;
    for (const size_t i : convolutions_of(graph)) shapes[graph[i].filter->weights] = tensor_shapes(graph, i);
    return shapes;
}

bool takes_sigma(const Graph& graph) { return graph.channels_in() == graph.channels_out() + 1; }

std::vector<size_t> convolutions_of(const Graph& graph) {
    std::vector<size_t> found;
    for (size_t i = 0; i < graph.size(); ++i)
        if (is_convolution(graph[i].kind)) found.push_back(i);
    return found;
}

std::vector<int64_t> widths_in(const Graph& graph) {
    std::vector<int64_t> widths;
    for (const size_t index : convolutions_of(graph)) {
        const auto& [channels, scale] = graph.shape(index);
        if (scale == int64_t{1} << widths.size()) widths.push_back(channels);
    }
    if (widths.empty()) widths.push_back(graph.channels_in());  // no network here starts with a smaller map
    return widths;
}

int64_t num_convolutions(const Graph& graph) { return static_cast<int64_t>(convolutions_of(graph).size()); }

int64_t parameters_of(const Graph& graph) {
    return sum_over_convolutions(graph, [&](size_t i) {
        const TensorShapes shapes = tensor_shapes(graph, i);
        return shapes.values() + (shapes.norm.empty() ? 0 : 2 * shapes.out_channels);
    });
}

double mac_per_pixel(const Graph& graph) {
    return sum_over_convolutions(graph, [&](size_t i) {
        return graph.shape(i).values_per_pixel() * static_cast<double>(tensor_shapes(graph, i).fan_in());
    });
}

double values_moved_per_pixel(const Graph& graph) {
    double values = sum_over_convolutions(graph, [&](size_t i) {
        return operand_shape(graph, i).values_per_pixel() + graph.shape(i).values_per_pixel();
    });
    for (size_t i = 0; i < graph.size(); ++i)
        if (is_sum(graph[i].kind)) values += graph.shape(i).values_per_pixel();
    return values;
}

double widest_map_of(const Graph& graph) {
    return std::ranges::max(graph.shapes(), {}, &MapShape::values_per_pixel).values_per_pixel();
}

double StepCost::flop(int64_t pixels) const { return flop_per_pixel * static_cast<double>(pixels); }

double StepCost::bytes(int64_t pixels, int64_t value_bytes) const {
    const double values = values_per_pixel * static_cast<double>(pixels) + static_cast<double>(weights);
    return values * static_cast<double>(value_bytes);
}

StepCost cost_of(const Graph& graph, const Step& step) {
    const Operation& first = graph[step.first];
    StepCost cost{.layer = first.filter ? first.filter->weights : fmt::format("{} {}", name_of(first.kind), step.first),
                  .operation = operation_text(graph, step),
                  .values_per_pixel = graph.shape(step.last).values_per_pixel()};
    for (const size_t map : maps_read(graph, step)) cost.values_per_pixel += graph.shape(map).values_per_pixel();
    if (!first.filter) return cost;
    const TensorShapes shapes = tensor_shapes(graph, step.first);
    cost.flop_per_pixel = 2 * graph.shape(step.first).values_per_pixel() * static_cast<double>(shapes.fan_in());
    cost.weights = shapes.values();
    return cost;
}

const NetworkFacts& network_facts(const NetworkShape& shape) { return kept_facts(shape); }

const NetworkFacts& network_facts(const NetworkCard& card) { return kept_facts(card); }

}  // namespace pb::network
