// Writes a network down as its forward pass: each function appends an operation and returns its index. It checks
// nothing: `Graph` does.
#pragma once

#include "patchbench/network/graph.hpp"

#include <utility>

namespace pb::network {

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
        operations_.push_back(std::move(operation));
        return operations_.size() - 1;
    }

    /// What was appended; the last operation makes the output.
    [[nodiscard]] Graph graph() const { return Graph(operations_); }

  private:
    std::vector<Operation> operations_;
};

}  // namespace pb::network
