#include "engine/torch/network.hpp"

#include "patchbench/base/error.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sub.h>

#include <algorithm>
#include <utility>

namespace pb::engine::torch_engine {

namespace {

// Note [Strided ops instead of pool and upsample]
// at::max_pool2d makes an int64 index map that is never read, and CUDA's upsampling refuses outputs of 2^31 elements in
// a whole batch. Element-wise operations on strided views give the same values without either.

/// One of the four pixels of each 2x2 cell, as a strided view.
at::Tensor corner(const at::Tensor& x, int64_t row, int64_t column) {
    return x.slice(2, row, std::nullopt, 2).slice(3, column, std::nullopt, 2);
}

at::Tensor max_pool_2x2(const at::Tensor& x) {
    at::Tensor y =
        at::empty({x.size(0), x.size(1), x.size(2) / 2, x.size(3) / 2}, x.options(), x.suggest_memory_format());
    at::maximum_out(y, corner(x, 0, 0), corner(x, 0, 1));
    at::maximum_out(y, y, corner(x, 1, 0));
    at::maximum_out(y, y, corner(x, 1, 1));
    return y;
}

at::Tensor double_nearest(const at::Tensor& x) {
    const int64_t n = x.size(0), c = x.size(1), h = x.size(2), w = x.size(3);
    at::Tensor y = at::empty({n, c, 2 * h, 2 * w}, x.options(), x.suggest_memory_format());
    y.view({n, c, h, 2, w, 2}).copy_(x.unsqueeze(3).unsqueeze(5).expand({n, c, h, 2, w, 2}));
    return y;
}

/// a - b, in the memory of operand number `overwritten`.
at::Tensor subtract(at::Tensor a, at::Tensor b, const std::optional<size_t>& overwritten) {
    if (!overwritten) return at::sub(a, b);
    return overwritten == 0 ? a.sub_(b) : at::sub_out(b, a, b);
}

/// Number of `map` among `maps`.
std::optional<size_t> number_of(const std::optional<size_t>& map, const std::vector<size_t>& maps) {
    if (!map) return std::nullopt;
    return static_cast<size_t>(std::ranges::find(maps, *map) - maps.begin());
}

}  // namespace

Network::Network(const network::Graph& graph, const at::TensorOptions& options, at::MemoryFormat format)
    : graph_(graph),
      // When a layer cannot be fused, layer.cpp computes its parts one after another.
      plan_(network::plan_memory(graph_, network::kOnednnPath)),
      options_(options),
      format_(format) {
    const std::vector<size_t> last_readers = network::last_readers_of(graph_, plan_.steps);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
        const network::Step& step = plan_.steps[s];
        Call call{.step = step,
                  .reads = network::maps_read(graph_, step),
                  .overwritten = network::map_overwritten(graph_, plan_, step)};
        for (const size_t map : call.reads)
            if (last_readers[map] == s) call.last_reads.push_back(map);
        calls_.push_back(std::move(call));
    }
}

Network::Network(const Weights& weights, const Placement& placement)
    : Network(weights.graph(), placement.options, placement.format) {
    for (Call& call : calls_)
        if (const auto& filter = graph_[call.step.first].filter)
            call.layer = make_layer(weights.convolution(filter->weights), placement);
}

Network Network::rearranged(const network::Graph& graph, const std::vector<size_t>& origin) const {
    Network network(graph, options_, format_);
    for (Call& call : network.calls_)
        if (network.graph_[call.step.first].filter) call.layer = layer_of(origin[call.step.first]);
    return network;
}

const std::optional<Layer>& Network::layer_of(size_t operation) const {
    return std::ranges::find(calls_, operation, [](const Call& call) { return call.step.first; })->layer;
}

void Network::run(const at::Tensor& in, at::Tensor& out, StepClock* clock) const {
    Maps maps(graph_.size());
    maps.front() = in;
    if (clock != nullptr) clock->start();
    for (const Call& call : calls_) {
        if (call.step.last == graph_.output())
            write(call, operands_of(call, maps), call.layer, out);
        else
            maps[call.step.last] = compute(call, operands_of(call, maps), call.layer);
        for (const size_t map : call.last_reads) maps[map].reset();
        if (clock != nullptr) clock->add(call.step);
    }
}

Network::Operands Network::operands_of(const Call& call, const Maps& maps) const {
    Operands operands{.maps = {}, .overwritten = number_of(call.overwritten, call.reads)};
    for (const size_t map : call.reads) operands.maps.push_back(maps[map]);
    return operands;
}

void Network::write(const Call& call, const Operands& operands, const std::optional<Layer>& layer,
                    at::Tensor& out) const {
    if (graph_[call.step.first].kind == network::OperationKind::add)
        at::add_out(out, operands.maps[0], operands.maps[1]);
    else if (graph_[call.step.first].kind == network::OperationKind::subtract)
        at::sub_out(out, operands.maps[0], operands.maps[1]);
    else
        out.copy_(compute(call, operands, layer));
}

at::Tensor Network::compute(const Call& call, const Operands& operands, const std::optional<Layer>& layer) const {
    const auto operand = [&](size_t i) { return operands.maps[i]; };
    const bool in_place = operands.overwritten.has_value();
    const bool in_second = in_place && operands.overwritten != 0;
    switch (graph_[call.step.first].kind) {
        case network::OperationKind::input: break;
        case network::OperationKind::convolution:
        case network::OperationKind::transposed_convolution: return convolve_with(call, operands, layer.value());
        case network::OperationKind::relu: return in_place ? operand(0).relu_() : at::relu(operand(0));
        case network::OperationKind::add:
            if (in_second) return operand(1).add_(operand(0));
            return in_place ? operand(0).add_(operand(1)) : at::add(operand(0), operand(1));
        case network::OperationKind::subtract:
            return subtract(operands.maps[0], operands.maps[1], operands.overwritten);
        case network::OperationKind::concatenate: return at::cat(operands.maps, 1);
        case network::OperationKind::max_pool: return max_pool_2x2(operand(0));
        case network::OperationKind::upsample: return double_nearest(operand(0));
    }
    throw Error("engine: an operation that torch does not know");
}

at::Tensor Network::convolve_with(const Call& call, const Operands& operands, const Layer& layer) const {
    const at::Tensor& x = operands.maps.front();
    if (!call.step.is_fused()) return convolve(x, layer);
    if (graph_[call.step.last].kind == network::OperationKind::relu) return convolve_relu(x, layer);
    at::Tensor other = operands.maps.back();
    if (!operands.overwritten) return convolve_add(other, x, layer);
    convolve_onto(other, x, layer);
    return other;
}

}  // namespace pb::engine::torch_engine
