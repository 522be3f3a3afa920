#include "network/step_cost.hpp"

#include <fmt/format.h>

namespace pb::network {

namespace {

std::string operation_text(const Graph& graph, const Step& step) {
    const Operation& first = graph[step.first];
    std::string text(name_of(first.kind));
    if (first.filter) {
        const TensorShapes shapes = tensor_shapes(graph, step.first);
        text += fmt::format(" {}x{}, {} to {}", shapes.kernel, shapes.kernel, shapes.in_channels, shapes.out_channels);
    }
    return step.is_fused() ? text + ", " + std::string(name_of(graph[step.last].kind)) : text;
}

}  // namespace

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

}  // namespace pb::network
