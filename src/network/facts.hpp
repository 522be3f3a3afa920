// What a network costs, counted over its operations. Figures per pixel are of the input at full extent and are exact:
// scales are powers of two.
#pragma once

#include "patchbench/network/graph.hpp"

#include <map>

namespace pb {

/// Whether the input has one channel more than the output: it holds sigma, in the units of the image.
[[nodiscard]] bool takes_sigma(const Graph& graph);

/// Indices of all convolutions, in the order of the forward pass.
[[nodiscard]] std::vector<size_t> convolutions_of(const Graph& graph);

[[nodiscard]] int64_t num_convolutions(const Graph& graph);

/// Values that training set: weights, biases, and scale and shift of each batch norm.
[[nodiscard]] int64_t parameters_of(const Graph& graph);

/// Multiply-accumulates of all convolutions. FLOP = 2 MAC.
[[nodiscard]] double mac_per_pixel(const Graph& graph);

/// Values that pass between memory and arithmetic at least: what each convolution reads and writes, and the other
/// operand of each sum or difference. Pooling, doubling and joining of maps are not in it, weights neither.
[[nodiscard]] double values_moved_per_pixel(const Graph& graph);

/// Values per pixel of the largest map: 32-bit indices end at 2^31 of them in a sample.
[[nodiscard]] double widest_map_of(const Graph& graph);

/// Tensors of one convolution in a checkpoint.
struct TensorShapes {
    int64_t out_channels = 0;
    int64_t in_channels = 0;
    int64_t kernel = 0;
    bool transposed = false;  // the weight is [in, out, kernel, kernel], else [out, in, kernel, kernel]
    bool has_bias = false;
    std::string norm{};  // name of the batch norm after it; empty: none

    /// Of weight and bias.
    [[nodiscard]] int64_t values() const;
    [[nodiscard]] std::vector<int64_t> weight_shape() const;
    /// Products that one value of the convolution's map sums up.
    [[nodiscard]] int64_t fan_in() const;
    friend bool operator==(const TensorShapes&, const TensorShapes&) = default;
};

/// Of the convolution `index` of `graph`.
[[nodiscard]] TensorShapes tensor_shapes(const Graph& graph, size_t index);

/// What a checkpoint of this network must have, by the names of the weights.
[[nodiscard]] std::map<std::string, TensorShapes> checkpoint_shapes(const Graph& graph);

}  // namespace pb
