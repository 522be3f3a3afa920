#include "engine/torch/network.hpp"

#include "patchbench/base/error.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sub.h>

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

at::Tensor concatenate(const std::vector<at::Tensor>& maps, const std::vector<size_t>& operands) {
    std::vector<at::Tensor> joined;
    for (const size_t operand : operands) joined.push_back(maps[operand]);
    return at::cat(joined, 1);
}

}  // namespace

Network::Network(const Weights& weights, const Placement& placement) : graph_(weights.graph()) {
    // When a layer cannot be fused, layer.cpp computes its parts one after another.
    const network::MemoryPlan plan = network::plan_memory(graph_, network::kOnednnPath);
    const std::vector<size_t> last_readers = network::last_readers_of(graph_, plan.steps);
    for (size_t s = 0; s < plan.steps.size(); ++s) {
        const network::Step& step = plan.steps[s];
        Call call{.step = step,
                  .reads = network::maps_read(graph_, step),
                  .overwritten = network::map_overwritten(graph_, plan, step)};
        for (const size_t map : call.reads)
            if (last_readers[map] == s) call.last_reads.push_back(map);
        if (const auto& filter = graph_[step.first].filter)
            call.layer = make_layer(weights.convolution(filter->weights), placement);
        calls_.push_back(std::move(call));
    }
}

void Network::run(const at::Tensor& in, at::Tensor& out, StepClock* clock) const {
    Maps maps(graph_.size());
    maps.front() = in;
    if (clock != nullptr) clock->start();
    for (const Call& call : calls_) {
        run(call, maps, out);
        for (const size_t map : call.last_reads) maps[map].reset();
        if (clock != nullptr) clock->add(call.step);
    }
}

void Network::run(const Call& call, Maps& maps, at::Tensor& out) const {
    const auto& [first, last] = call.step;
    if (last != graph_.output())
        maps[last] = compute(call, maps);
    else if (graph_[first].kind == network::OperationKind::add)
        at::add_out(out, maps[call.reads[0]], maps[call.reads[1]]);
    else if (graph_[first].kind == network::OperationKind::subtract)
        at::sub_out(out, maps[call.reads[0]], maps[call.reads[1]]);
    else
        out.copy_(compute(call, maps));
}

at::Tensor Network::compute(const Call& call, Maps& maps) const {
    const auto operand = [&](size_t i) -> at::Tensor& { return maps[call.reads[i]]; };
    const bool in_place = call.overwritten.has_value();
    const bool in_second = in_place && call.overwritten != call.reads.front();
    switch (graph_[call.step.first].kind) {
        case network::OperationKind::input:
            break;
        case network::OperationKind::convolution:
        case network::OperationKind::transposed_convolution:
            return convolve_with(call, maps);
        case network::OperationKind::relu:
            return in_place ? operand(0).relu_() : at::relu(operand(0));
        case network::OperationKind::add:
            if (in_second) return operand(1).add_(operand(0));
            return in_place ? operand(0).add_(operand(1)) : at::add(operand(0), operand(1));
        case network::OperationKind::subtract:
            if (in_second) return at::sub_out(operand(1), operand(0), operand(1));
            return in_place ? operand(0).sub_(operand(1)) : at::sub(operand(0), operand(1));
        case network::OperationKind::concatenate:
            return concatenate(maps, call.reads);
        case network::OperationKind::max_pool:
            return max_pool_2x2(operand(0));
        case network::OperationKind::upsample:
            return double_nearest(operand(0));
    }
    throw Error("engine: an operation that torch does not know");
}

at::Tensor Network::convolve_with(const Call& call, Maps& maps) const {
    const at::Tensor& x = maps[call.reads.front()];
    if (!call.step.is_fused()) return convolve(x, *call.layer);
    if (graph_[call.step.last].kind == network::OperationKind::relu) return convolve_relu(x, *call.layer);
    at::Tensor& other = maps[call.reads.back()];
    if (!call.overwritten) return convolve_add(other, x, *call.layer);
    convolve_onto(other, x, *call.layer);
    return other;
}

}  // namespace pb::engine::torch_engine
