#include "patchbench/network/steps.hpp"

#include "network/native_layout.hpp"

#include <algorithm>

namespace pb::network {

namespace {

/// How often the map of each operation is read.
std::vector<size_t> num_uses(const Graph& graph) {
    std::vector<size_t> uses(graph.size());
    for (size_t i = 0; i < graph.size(); ++i)
        for (const size_t operand : graph[i].operands) ++uses[operand];
    return uses;
}

bool may_fuse(const Graph& graph, size_t index, const Fusing& fusing) {
    const OperationKind kind = graph[index].kind;
    return (kind == OperationKind::relu && fusing.relu) ||
           (kind == OperationKind::add && fusing.sum && index != graph.output());
}

/// The convolution that can be computed together with operation `index`; `index` itself when there is none.
size_t fused_with(const Graph& graph, size_t index, const std::vector<size_t>& uses) {
    size_t found = index;
    for (const size_t operand : graph[index].operands)
        if (graph[operand].kind == OperationKind::convolution && uses[operand] == 1)
            found = found == index ? operand : std::max(found, operand);
    return found;
}

/// By operation, the concatenations that have no map.
std::vector<bool> concatenations_fused(const Graph& graph, const Fusing& fusing) {
    std::vector<bool> is_fused(graph.size());
    for (size_t i = 0; i < graph.size(); ++i)
        is_fused[i] = fusing.concatenation && graph[i].kind == OperationKind::concatenate && is_read_in_parts(graph, i);
    return is_fused;
}

}  // namespace

std::vector<Step> steps_of(const Graph& graph, const Fusing& fusing) {
    const std::vector<size_t> uses = num_uses(graph);
    std::vector<size_t> first(graph.size());
    const std::vector<bool> is_joined = concatenations_fused(graph, fusing);
    std::vector<bool> is_taken = is_joined;
    for (size_t i = 0; i < graph.size(); ++i) {
        first[i] = may_fuse(graph, i, fusing) ? fused_with(graph, i, uses) : i;
        if (first[i] != i) is_taken[first[i]] = true;
    }
    std::vector<Step> steps;
    for (size_t i = 1; i < graph.size(); ++i)
        if (!is_taken[i]) steps.push_back({first[i], i, is_joined[graph[first[i]].operands.front()]});
    return steps;
}

std::optional<size_t> map_summed(const Graph& graph, const Step& step) {
    if (!step.is_fused() || graph[step.last].kind != OperationKind::add) return std::nullopt;
    const auto& operands = graph[step.last].operands;
    return operands[0] == step.first ? operands[1] : operands[0];
}

const std::vector<size_t>& operands_of(const Graph& graph, const Step& step) {
    const std::vector<size_t>& operands = graph[step.first].operands;
    return step.joins ? graph[operands.front()].operands : operands;
}

std::vector<size_t> maps_read(const Graph& graph, const Step& step) {
    std::vector<size_t> maps = operands_of(graph, step);
    if (const auto other = map_summed(graph, step)) maps.push_back(*other);
    return maps;
}

std::vector<size_t> last_readers_of(const Graph& graph, const std::vector<Step>& steps) {
    std::vector<size_t> readers(graph.size());
    for (size_t s = 0; s < steps.size(); ++s)
        for (const size_t map : maps_read(graph, steps[s])) readers[map] = s;
    return readers;
}

}  // namespace pb::network
