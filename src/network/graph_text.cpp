#include "patchbench/network/graph.hpp"

#include <fmt/format.h>

namespace pb {

namespace {

std::string filter_text(const Operation& operation) {
    if (!operation.filter) return {};
    const Filter& filter = *operation.filter;
    return fmt::format(" '{}' {}x{}{}{}{}", filter.weights, filter.kernel, filter.kernel,
                       filter.stride > 1 ? fmt::format(" stride {}", filter.stride) : "",
                       filter.has_bias ? " bias" : "",
                       filter.norm.empty() ? "" : fmt::format(" norm '{}'", filter.norm));
}

}  // namespace

std::string describe(const Operation& operation, size_t index) {
    const std::string weights = operation.filter ? fmt::format(" '{}'", operation.filter->weights) : "";
    return fmt::format("operation {} ({}{})", index, name_of(operation.kind), weights);
}

std::string to_text(const Graph& graph) {
    std::string text;
    for (size_t i = 0; i < graph.size(); ++i) {
        text += fmt::format("{} {}{}", i, name_of(graph[i].kind), filter_text(graph[i]));
        if (i > 0) text += fmt::format(" of {}", fmt::join(graph[i].operands, ", "));
        text += fmt::format(": {} channels at scale {}\n", graph.shape(i).channels, graph.shape(i).scale);
    }
    return text;
}

}  // namespace pb
