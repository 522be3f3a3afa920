// What one step of a forward call is and costs, counted over the graph: the lines of a profile, the same for every
// engine that computes the steps one by one.
#pragma once

#include "network/graph_facts.hpp"

#include "patchbench/network/steps.hpp"

#include <string>

namespace pb::network {

struct StepCost {
    std::string layer;            // the name of the convolution's weights, else "max_pool 3": operation and its index
    std::string operation;        // "convolution 3x3, 64 to 128, relu"
    double flop_per_pixel = 0;    // of the input: 2 for each multiply-accumulate of a convolution, else 0
    double values_per_pixel = 0;  // of the input: that the step reads and writes, each once
    int64_t weights = 0;          // values of weight and bias, read once a call

    [[nodiscard]] double flop(int64_t pixels) const;
    /// `value_bytes`: size of a value of maps and weights.
    [[nodiscard]] double bytes(int64_t pixels, int64_t value_bytes) const;
};

/// `step` must be one of `steps_of(graph, ..)`.
[[nodiscard]] StepCost cost_of(const Graph& graph, const Step& step);

}  // namespace pb::network
