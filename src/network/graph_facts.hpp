// Figures of a network, counted over its operations and steps: parameters, arithmetic, memory traffic. "Per pixel" is
// per pixel of the input; such figures are exact, because scales are powers of two.
#pragma once

#include "patchbench/network/graph.hpp"
#include "patchbench/network/memory_plan.hpp"

#include <map>
#include <string>

namespace pb::network {

/// Whether the input has one channel more than the output. This channel holds sigma, in the units of the image.
[[nodiscard]] bool takes_sigma(const Graph& graph);

/// Indices of all convolutions, in the order of the forward pass.
[[nodiscard]] std::vector<size_t> convolutions_of(const Graph& graph);

[[nodiscard]] int64_t num_convolutions(const Graph& graph);

/// Output channels of the first convolution at each scale, from full extent down.
[[nodiscard]] std::vector<int64_t> widths_in(const Graph& graph);

/// Trained values: weights, biases, and the scale and shift of each batch norm.
[[nodiscard]] int64_t parameters_of(const Graph& graph);

/// Multiply-accumulates of all convolutions. FLOP = 2 MAC.
[[nodiscard]] double mac_per_pixel(const Graph& graph);

/// Lower bound of the values moved between memory and arithmetic: those that each convolution reads and writes, and the
/// other operand of each sum or difference. Pooling, upsampling, concatenation and weights are not counted.
[[nodiscard]] double values_moved_per_pixel(const Graph& graph);

/// Values per pixel of the largest map. (With 32-bit indices a map may hold fewer than 2^31 values.)
[[nodiscard]] double widest_map_of(const Graph& graph);

/// Tensors of one convolution in a checkpoint.
struct TensorShapes : ConvolutionShape {
    bool has_bias = false;
    std::string norm{};  // name of the batch norm after it; empty when there is none

    /// Number of values in the weight, and in weight and bias.
    [[nodiscard]] int64_t weight_values() const { return out_channels * in_channels * kernel * kernel; }
    [[nodiscard]] int64_t values() const;
    [[nodiscard]] std::vector<int64_t> weight_shape() const;
    /// Number of products in one value of the convolution's map.
    [[nodiscard]] int64_t fan_in() const;
    friend bool operator==(const TensorShapes&, const TensorShapes&) = default;
};

/// Shapes of operation `index` of `graph`, which must be a convolution.
[[nodiscard]] TensorShapes tensor_shapes(const Graph& graph, size_t index);

/// Tensors that a checkpoint of this network must have, by the names of the weights.
[[nodiscard]] std::map<std::string, TensorShapes> checkpoint_shapes(const Graph& graph);

/// What one step of a forward call is and costs, counted over the graph: the lines of a profile, the same for every
/// engine that computes the steps one by one.
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
