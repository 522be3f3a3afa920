#include "engine/torch/fusion/fusion.hpp"

#include "engine/torch/layer.hpp"
#include "engine/torch/tensors.hpp"

#include "patchbench/base/error.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace pb::engine::torch_engine {

namespace {

/// Allowed difference, as a share of the largest value of the output. Both layers round in the same way, but at
/// different places: the unfused layer rounds its convolution before the sum, and the order of summation differs.
double tolerance_of(Precision precision) {
    constexpr double kRoundings = 4;
    switch (precision) {
        case Precision::bf16: return std::ldexp(kRoundings, -8);
        case Precision::fp16:
        case Precision::tf32: return std::ldexp(kRoundings, -11);
        case Precision::fp32: break;
    }
    return 1e-4;  // difference between algorithms, Winograd's included
}

at::Tensor empty_output(const FusedLayer& fused, const at::TensorOptions& options) {
    const auto [n, c, h, w] = fused.out();
    return at::empty({n, c, h, w}, options, memory_format(fused.layout));
}

/// Each term of the output is about 1, so that a term which is left out or counted twice shows. `residual` is not y.
FusedOperands random_operands(const FusedLayer& fused, const at::TensorOptions& options) {
    const auto random = [&](at::IntArrayRef shape) {
        return at::empty(shape, options, memory_format(fused.layout)).normal_();
    };
    const auto [n, c, h, w] = fused.in;
    const auto num_products = static_cast<double>(c * fused.kernel * fused.kernel);
    FusedOperands operands{
        .x = random({n, c, h, w}),
        .weight = random({fused.out_channels, c, fused.kernel, fused.kernel}).div_(std::sqrt(num_products)),
        .bias = at::randn({fused.out_channels}, options),
        .residual = {},
        .y = empty_output(fused, options)};
    if (fused.residual) operands.residual = empty_output(fused, options).normal_();
    return operands;
}

/// The largest difference between operands.y and the unfused layer, as a share of its largest value. Computed window by
/// window, which takes little memory.
double deviation(const FusedLayer& fused, const FusedOperands& operands) {
    const Layer layer{.weight = operands.weight,
                      .taps = {},
                      .bias = operands.bias,
                      .stride = {fused.stride, fused.stride},
                      .padding = {fused.padding, fused.padding}};
    double largest = 0, difference = 0;
    for (int64_t i = 0; i < fused.in.n; ++i) {
        const at::Tensor x = operands.x.narrow(0, i, 1);
        at::Tensor expected = fused.relu ? convolve_relu(x, layer) : convolve(x, layer);
        if (fused.residual) expected.add_(operands.residual.narrow(0, i, 1));
        largest = std::max(largest, expected.abs().max().item<double>());
        const double here = expected.sub(operands.y.narrow(0, i, 1)).abs().max().item<double>();
        if (std::isnan(here)) return here;
        difference = std::max(difference, here);
    }
    return difference / largest;
}

/// Checks the in-place form, which most sums use and which may fail by itself.
void run_onto_residual(FusedPlan& plan, FusedOperands& operands) {
    operands.y.copy_(operands.residual);
    FusedOperands in_place = operands;
    in_place.residual = in_place.y;
    plan.run(in_place);
}

}  // namespace

Shape FusedLayer::out() const {
    const auto edge = [&](int64_t pixels) { return (pixels + 2 * padding - kernel) / stride + 1; };
    return {.n = in.n, .c = out_channels, .h = edge(in.h), .w = edge(in.w)};
}

std::string FusedLayer::name() const {
    return fmt::format("conv{0}x{0}{1}+bias{2}{3}_{4}to{5}_{6}x{7}x{8}_{9}_{10}", kernel,
                       stride == 1 ? "" : fmt::format("/{}", stride), residual ? "+sum" : "", relu ? "+relu" : "", in.c,
                       out_channels, in.n, in.h, in.w, name_of(precision), name_of(layout));
}

Fusion::Fusion(std::unique_ptr<FusedPlans> plans, Precision precision, Layout layout)
    : plans_(std::move(plans)), precision_(precision), layout_(layout) {}

bool Fusion::is_dense(const at::Tensor& map) const { return map.is_contiguous(memory_format(layout_)); }

FusedLayer Fusion::describe(const at::Tensor& x, const Layer& layer) const {
    FusedLayer fused{.in = {.n = x.size(0), .c = x.size(1), .h = x.size(2), .w = x.size(3)},
                     .out_channels = layer.weight.size(0),
                     .kernel = layer.weight.size(2),
                     .stride = layer.stride.front(),
                     .padding = layer.padding.front()};
    fused.precision = precision_;
    fused.layout = layout_;
    return fused;
}

at::Tensor Fusion::bias_of(const Layer& layer) {
    if (layer.bias) return *layer.bias;
    const int64_t channels = layer.weight.size(0);
    at::Tensor& zeros = no_bias_[channels];
    if (!zeros.defined()) zeros = at::zeros({channels}, layer.weight.options());
    return zeros;
}

FusedOffer Fusion::find_checked(const FusedLayer& fused, const at::TensorOptions& options) {
    try {
        FusedOperands operands = random_operands(fused, options);
        FusedOffer offer = plans_->find(fused, operands);
        if (!offer.plan) return offer;
        if (fused.residual)
            run_onto_residual(*offer.plan, operands);
        else
            offer.plan->run(operands);
        const double found = deviation(fused, operands);
        if (found <= tolerance_of(precision_)) return offer;
        return {nullptr, fmt::format("wrong by {:.2g} of its largest value beside the unfused layer", found)};
    } catch (const c10::OutOfMemoryError&) {
        return {nullptr, "too little memory to check it"};
    } catch (const c10::Error& error) {
        return {nullptr, first_line(error.what_without_backtrace())};
    } catch (const Error& error) {
        return {nullptr, first_line(error.what())};
    }
}

FusedPlan* Fusion::plan_for(const FusedLayer& fused, const at::TensorOptions& options) {
    auto found = offers_.find(fused);
    if (found == offers_.end()) found = offers_.emplace(fused, find_checked(fused, options)).first;
    return found->second.plan.get();
}

std::optional<at::Tensor> Fusion::run(const at::Tensor& x, const Layer& layer, const Epilogue& then, at::Tensor y) {
    const at::Tensor& residual = then.residual;
    if (layer.transposed || !is_dense(x) || (residual.defined() && !is_dense(residual))) return std::nullopt;
    FusedLayer fused = describe(x, layer);
    fused.residual = residual.defined();
    fused.relu = then.relu;
    FusedPlan* plan = plan_for(fused, x.options());
    if (plan == nullptr) return std::nullopt;
    if (!y.defined()) y = empty_output(fused, x.options());
    plan->run({.x = x, .weight = layer.weight, .bias = bias_of(layer), .residual = residual, .y = y});
    return y;
}

std::string Fusion::remark() const {
    constexpr size_t kNamed = 3;
    std::string named;
    size_t unfused = 0;
    for (const auto& [fused, offer] : offers_) {
        if (offer.plan) continue;
        if (++unfused <= kNamed)
            named += fmt::format("{}{}: {}", unfused == 1 ? "" : "; ", fused.name(), offer.why_not);
    }
    if (unfused == 0) return {};
    return fmt::format("fusion: {} of {} kinds of layer ran unfused ({}{})", unfused, offers_.size(), named,
                       unfused > kNamed ? "; .." : "");
}

}  // namespace pb::engine::torch_engine
