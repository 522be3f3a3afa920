#include "patchbench/network/graph.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <utility>

namespace pb::network {

namespace {

// Bounds that keep all figures of a network within int64.
constexpr int64_t kMaxChannels = int64_t{1} << 20;
constexpr int64_t kMaxScale = 1024;

/// Least and largest number of operands of an operation.
std::pair<size_t, size_t> num_operands(OperationKind kind) {
    switch (kind) {
        case OperationKind::input: return {0, 0};
        case OperationKind::add:
        case OperationKind::subtract: return {2, 2};
        case OperationKind::concatenate: return {2, std::numeric_limits<size_t>::max()};
        default: return {1, 1};
    }
}

/// Checks the operations one by one and finds the shapes of their maps.
class ShapeInference {
  public:
    explicit ShapeInference(const std::vector<Operation>& operations) : operations_(operations) {}

    std::vector<MapShape> run() {
        if (operations_.empty()) throw Error("network: a graph without operations");
        for (const Operation& operation : operations_) {
            check_operands(operation);
            check_filter(operation);
            shapes_.push_back(shape_of(operation));
            check_bounds(shapes_.back());
        }
        check_output();
        check_uses();
        return std::move(shapes_);
    }

  private:
    [[nodiscard]] size_t index() const { return shapes_.size(); }

    [[noreturn]] void refuse(size_t at, const std::string& reason) const {
        throw Error(fmt::format("network: {}: {}", describe(operations_[at], at), reason));
    }
    void demand(bool condition, const std::string& reason) const {
        if (!condition) refuse(index(), reason);
    }

    void check_operands(const Operation& operation) const {
        const auto [least, most] = num_operands(operation.kind);
        const size_t count = operation.operands.size();
        demand(count >= least && count <= most,
               fmt::format("has {} operands and takes {}{}", count, most > least ? "at least " : "", least));
        for (const size_t operand : operation.operands)
            demand(operand < index(), fmt::format("its operand {} is no earlier operation", operand));
        demand((operation.kind == OperationKind::input) == (index() == 0), "operation 0 is the only input");
    }

    void check_filter(const Operation& operation) {
        const bool convolves = is_convolution(operation.kind);
        demand(operation.filter.has_value() == convolves, convolves ? "has no filter" : "takes no filter");
        const bool counts = convolves || operation.kind == OperationKind::input;
        demand(counts || operation.channels == 0, "takes its channels from its operands");
        if (!convolves) return;
        const auto& [weights, kernel, stride, has_bias, norm, gain] = *operation.filter;
        demand(!weights.empty(), "its weights have no name");
        const auto [first, is_new] = named_.emplace(weights, index());
        demand(is_new, fmt::format("operation {} has these weights already", first->second));
        const bool halves = kernel == 2 && stride == 2;
        const bool direct = (kernel == 1 || kernel == 3) && (stride == 1 || stride == 2);
        demand(halves || (direct && operation.kind == OperationKind::convolution),
               fmt::format("a kernel of {} with stride {}: {}", kernel, stride,
                           operation.kind == OperationKind::convolution
                               ? "there are 1 and 3 with stride 1 or 2, and 2 with stride 2"
                               : "there is 2 with stride 2 only"));
    }

    [[nodiscard]] MapShape shape_of(const Operation& operation) const {
        switch (operation.kind) {
            case OperationKind::input: return {operation.channels, 1};
            case OperationKind::convolution:
                return {operation.channels, operand(operation).scale * operation.filter->stride};
            case OperationKind::transposed_convolution: return {operation.channels, half_of(operand(operation).scale)};
            case OperationKind::relu: return operand(operation);
            case OperationKind::add:
            case OperationKind::subtract: return common_shape(operation);
            case OperationKind::concatenate: return joined_shape(operation);
            case OperationKind::max_pool: return {operand(operation).channels, operand(operation).scale * 2};
            case OperationKind::upsample: return {operand(operation).channels, half_of(operand(operation).scale)};
        }
        refuse(index(), "is of no known kind");
    }

    [[nodiscard]] const MapShape& operand(const Operation& operation, size_t i = 0) const {
        return shapes_[operation.operands[i]];
    }

    [[nodiscard]] int64_t half_of(int64_t scale) const {
        demand(scale > 1, "doubles a map that has the extents of the input already");
        return scale / 2;
    }

    [[nodiscard]] MapShape common_shape(const Operation& operation) const {
        const MapShape &a = operand(operation), &b = operand(operation, 1);
        demand(a.channels == b.channels, fmt::format("its operands have {} and {} channels", a.channels, b.channels));
        demand(a.scale == b.scale, fmt::format("its operands have the scales {} and {}", a.scale, b.scale));
        return a;
    }

    [[nodiscard]] MapShape joined_shape(const Operation& operation) const {
        MapShape joined{0, operand(operation).scale};
        for (size_t i = 0; i < operation.operands.size(); ++i) {
            const auto [channels, scale] = operand(operation, i);
            demand(scale == joined.scale, fmt::format("its operands have the scales {} and {}", joined.scale, scale));
            joined.channels += channels;
        }
        return joined;
    }

    void check_bounds(const MapShape& shape) const {
        const size_t at = index() - 1;
        if (shape.channels < 1 || shape.channels > kMaxChannels)
            refuse(at, fmt::format("{} channels: there must be 1 to {}", shape.channels, kMaxChannels));
        if (shape.scale > kMaxScale)
            refuse(at, fmt::format("its scale is {}: {} is the largest", shape.scale, kMaxScale));
    }

    void check_output() const {
        const auto& [channels, scale] = shapes_.back();
        if (scale != 1)
            refuse(index() - 1, fmt::format("the output has scale {}: it must have that of the input", scale));
        if (operations_.size() == 1) refuse(0, "the graph computes nothing");
    }

    void check_uses() const {
        std::vector<bool> is_used(operations_.size());
        is_used.back() = true;
        for (const Operation& operation : operations_)
            for (const size_t operand : operation.operands) is_used[operand] = true;
        for (size_t i = 0; i < is_used.size(); ++i)
            if (!is_used[i]) refuse(i, "no operation uses its map, and only the last one is the output");
    }

    const std::vector<Operation>& operations_;
    std::vector<MapShape> shapes_;  // of the operations checked so far
    std::map<std::string, size_t> named_;
};

}  // namespace

double MapShape::values_per_pixel() const { return static_cast<double>(channels) / static_cast<double>(scale * scale); }

Graph::Graph(std::vector<Operation> operations)
    : operations_(std::move(operations)), shapes_(ShapeInference(operations_).run()) {}

std::string describe(const Operation& operation, size_t index) {
    const std::string weights = operation.filter ? fmt::format(" '{}'", operation.filter->weights) : "";
    return fmt::format("operation {} ({}{})", index, name_of(operation.kind), weights);
}

}  // namespace pb::network
