#include "network/late_maps.hpp"

#include "network/native_layout.hpp"

#include "patchbench/network/steps.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace pb::network {

namespace {

bool is_wider_than_the_input(const Graph& graph, const Step& step) {
    const Operation& operation = graph[step.first];
    return operation.kind == OperationKind::convolution && operation.operands.front() == 0 &&
           !map_summed(graph, step) && graph.shape(step.last).channels > graph.channels_in();
}

/// The steps that read `map`.
std::vector<Step> readers_of(const Graph& graph, const std::vector<Step>& steps, size_t map) {
    std::vector<Step> readers;
    std::ranges::copy_if(steps, std::back_inserter(readers),
                         [&](const Step& step) { return std::ranges::count(maps_read(graph, step), map) > 0; });
    return readers;
}

/// Whether `reader` adds `map` to a convolution of a concatenation of it: as one step it would read map and copy.
bool reads_twice(const Graph& graph, const Step& reader, size_t map) {
    const Operation& operand = graph[graph[reader.first].operands.front()];
    return map_summed(graph, reader) == map && operand.kind == OperationKind::concatenate &&
           std::ranges::count(operand.operands, map) > 0;
}

/// Copies a graph, and in front of operation `reader.first` the operations of `head` once more.
class LateCopy {
  public:
    LateCopy(const Graph& graph, const Step& head, const Step& reader) : graph_(graph), head_(head), reader_(reader) {}

    LateGraph run() {
        for (size_t i = 0; i < graph_.size(); ++i) {
            if (i == reader_.first) repeat_head();
            Operation operation = graph_[i];
            const bool reads_copy = i == reader_.first || i == reader_.last;
            for (size_t& operand : operation.operands)
                operand = reads_copy && operand == head_.last ? copy_ : places_[operand];
            places_.push_back(append(std::move(operation), i));
        }
        return {Graph(std::move(operations_)), std::move(origin_)};
    }

  private:
    void repeat_head() {
        Operation convolution = graph_[head_.first];
        convolution.filter->weights += " again";  // names are of one operation
        copy_ = append(std::move(convolution), head_.first);
        if (head_.first == head_.last) return;
        Operation activation = graph_[head_.last];
        activation.operands = {copy_};
        copy_ = append(std::move(activation), head_.last);
    }

    size_t append(Operation operation, size_t origin) {
        operations_.push_back(std::move(operation));
        origin_.push_back(origin);
        return operations_.size() - 1;
    }

    const Graph& graph_;
    Step head_, reader_;
    std::vector<Operation> operations_;
    std::vector<size_t> origin_, places_;  // where operations of the graph are in the copy
    size_t copy_ = 0;
};

}  // namespace

LateGraph without_late_map(const Graph& graph) {
    std::vector<size_t> origin(graph.size());
    std::iota(origin.begin(), origin.end(), size_t{0});
    return {graph, std::move(origin)};
}

std::optional<LateGraph> with_late_map(const Graph& graph) {
    const std::vector<Step> steps = steps_of(graph, {});  // a concatenation reads the copy, whoever reads it then
    for (const Step& step : steps) {
        if (!is_wider_than_the_input(graph, step)) continue;
        const std::vector<Step> readers = readers_of(graph, steps, step.last);
        if (readers.size() < 2) continue;
        const Step& reader = readers.back();
        if (!reads_twice(graph, reader, step.last)) return LateCopy(graph, step, reader).run();
    }
    return std::nullopt;
}

}  // namespace pb::network
