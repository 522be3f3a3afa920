// A denoising network as a value: operations in the order in which they can be computed, each on the results ("maps")
// of earlier ones. Engines interpret it; alignment, halo, arithmetic and memory are derived from it. It holds no values
// of weights and no extents: a map has the extents of the input divided by its scale.
#pragma once

#include "patchbench/base/enum_names.hpp"
#include "patchbench/base/error.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pb::network {

enum class OperationKind : uint8_t {
    input,
    convolution,
    transposed_convolution,  // 2x2 with stride 2: doubles both extents
    relu,
    add,
    subtract,     // first operand minus second
    concatenate,  // channels, in the order of the operands
    max_pool,     // 2x2 with stride 2: halves both extents
    upsample      // nearest neighbour: doubles both extents
};

/// Kernel, stride and names of a convolution. Padding follows from the kernel: one pixel of zeros around for 3x3, none
/// for 2x2 (stride 2 only) and 1x1.
struct Filter {
    std::string weights;  // name in checkpoints, without the ending `.weight`
    int64_t kernel = 3;   // pixels along each axis
    int64_t stride = 1;
    bool has_bias = false;
    std::string norm{};  // name of the batch norm that training had after it, folded into it; empty: none
    double gain = 1;     // of seeded weights: deviation of the map over its operand's, after a ReLU that follows

    [[nodiscard]] int64_t padding() const { return kernel == 3 ? 1 : 0; }
    friend auto operator<=>(const Filter&, const Filter&) = default;
};

/// Extents of a convolution. Its weight is [out, in, kernel, kernel] row-major, or [in, out, kernel, kernel] when
/// `transposed`.
struct ConvolutionShape {
    int64_t out_channels = 0;
    int64_t in_channels = 0;
    int64_t kernel = 0;
    int64_t stride = 1;
    bool transposed = false;

    friend bool operator==(const ConvolutionShape&, const ConvolutionShape&) = default;
};

struct Operation {
    OperationKind kind = OperationKind::input;
    std::vector<size_t> operands;  // indices of earlier operations
    int64_t channels = 0;          // of the map that an input or a convolution makes; 0: follows from the operands
    std::optional<Filter> filter;  // of convolutions only

    friend auto operator<=>(const Operation&, const Operation&) = default;
};

struct MapShape {
    int64_t channels = 0;
    int64_t scale = 1;  // pixels of the input along each axis for one of the map: 1, 2, 4, ...

    [[nodiscard]] double values_per_pixel() const;  // of the input; exact, because scales are powers of two
    friend auto operator<=>(const MapShape&, const MapShape&) = default;
};

class Graph {
  public:
    /// Operation 0 is the only input, the last operation makes the output. Throws Error that names the first operation
    /// that is wrong: an operand is missing or does not fit, its filter is none of those above, nothing uses its map.
    explicit Graph(std::vector<Operation> operations);

    [[nodiscard]] size_t size() const { return operations_.size(); }
    [[nodiscard]] size_t output() const { return operations_.size() - 1; }
    [[nodiscard]] const Operation& operator[](size_t index) const { return operations_[index]; }
    [[nodiscard]] const MapShape& shape(size_t index) const { return shapes_[index]; }
    [[nodiscard]] const std::vector<MapShape>& shapes() const { return shapes_; }
    [[nodiscard]] int64_t channels_in() const { return shapes_.front().channels; }
    [[nodiscard]] int64_t channels_out() const { return shapes_.back().channels; }

    friend auto operator<=>(const Graph&, const Graph&) = default;

  private:
    std::vector<Operation> operations_;
    std::vector<MapShape> shapes_;
};

/// Writes a network down as its forward pass: each function appends an operation and returns its index. Throws Error
/// for more operations than a network can have; `Graph` checks all else.
class GraphBuilder {
  public:
    size_t input(int64_t channels) { return append({.kind = OperationKind::input, .channels = channels}); }

    /// `x` to `channels` channels.
    size_t convolve(size_t x, int64_t channels, Filter filter) {
        return append({OperationKind::convolution, {x}, channels, std::move(filter)});
    }

    /// 2x2 with stride 2, without bias.
    size_t convolve_transposed(size_t x, int64_t channels, const std::string& weights) {
        const Filter filter{.weights = weights, .kernel = 2, .stride = 2};
        return append({OperationKind::transposed_convolution, {x}, channels, filter});
    }

    size_t relu(size_t x) { return append({.kind = OperationKind::relu, .operands = {x}}); }
    size_t add(size_t a, size_t b) { return append({.kind = OperationKind::add, .operands = {a, b}}); }
    size_t subtract(size_t a, size_t b) { return append({.kind = OperationKind::subtract, .operands = {a, b}}); }
    size_t concatenate(size_t a, size_t b) { return append({.kind = OperationKind::concatenate, .operands = {a, b}}); }
    size_t max_pool(size_t x) { return append({.kind = OperationKind::max_pool, .operands = {x}}); }
    size_t upsample(size_t x) { return append({.kind = OperationKind::upsample, .operands = {x}}); }

    size_t append(Operation operation) {
        constexpr size_t kMost = 65536;
        if (operations_.size() == kMost) throw Error("network: more than 65536 operations");
        operations_.push_back(std::move(operation));
        return operations_.size() - 1;
    }

    /// What was appended; the last operation makes the output.
    [[nodiscard]] Graph graph() const { return Graph(operations_); }

  private:
    std::vector<Operation> operations_;
};

[[nodiscard]] constexpr bool is_convolution(OperationKind kind) {
    return kind == OperationKind::convolution || kind == OperationKind::transposed_convolution;
}

/// A sum or a difference of two maps, pixel by pixel.
[[nodiscard]] constexpr bool is_sum(OperationKind kind) {
    return kind == OperationKind::add || kind == OperationKind::subtract;
}

/// "operation 1 (convolution 'm_head')": how errors name an operation.
[[nodiscard]] std::string describe(const Operation& operation, size_t index);

}  // namespace pb::network
