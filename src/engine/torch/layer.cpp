#include "engine/torch/layer.hpp"

#include "engine/torch/fusion/fusion.hpp"

#include "patchbench/base/error.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <string_view>

// Note [oneDNN by name]
// ATen chooses a convolution implementation by batch, size and number of threads, so the last bits of results would
// differ between rank counts. On the CPU every convolution therefore calls oneDNN by name, through the operators of
// PyTorch's compiler, which fuse the ReLU and the in-place sum into the convolution. Their results were found
// bit-identical for any batch and any number of threads (tests/engine/torch_denoiser_test.cpp). Weights are not packed
// in advance: oneDNN's order of weights depends on the shape of the batch, and its conversion between two such orders
// is slow. Packing at each call costs 3-5 % at 512 channels; the wrong order costs a factor of four.
namespace pb::engine::torch_engine {

namespace {

using Scalars = c10::List<std::optional<at::Scalar>>;
using OptionalTensor = const std::optional<at::Tensor>&;

using Pointwise = at::Tensor(const at::Tensor&, const at::Tensor&, OptionalTensor, at::IntArrayRef, at::IntArrayRef,
                             at::IntArrayRef, int64_t, std::string_view, Scalars, std::optional<std::string_view>);
using PointwiseSum = at::Tensor&(at::Tensor&, const at::Tensor&, const at::Tensor&, OptionalTensor, at::IntArrayRef,
                                 at::IntArrayRef, at::IntArrayRef, int64_t, std::string_view, std::optional<at::Scalar>,
                                 std::optional<std::string_view>, Scalars, std::optional<std::string_view>);

template <class Signature>
c10::TypedOperatorHandle<Signature> find_operator(const char* name, const char* overload) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).typed<Signature>();
}

constexpr int64_t kOnes[] = {1, 1};
constexpr int64_t kZeros[] = {0, 0};

// Note [bf16 without bf16 arithmetic]
// Where oneDNN has no bf16 convolution for the processor, ATen's own takes ten times as long as fp32. A layer is then
// computed in fp32 on the bf16 operands and its result rounded to bf16. Apart from the order of summation, bf16 units
// that accumulate in fp32 give the same. Maps between layers are bf16. Denoiser::remark reports it.
bool lacks_bf16(const at::Tensor& x) { return x.scalar_type() == at::kBFloat16 && !processor_has_bf16(); }

at::Tensor widened(const at::Tensor& x) { return x.to(at::kFloat); }

Layer widened(Layer layer) {
    if (layer.weight.defined()) layer.weight = widened(layer.weight);
    for (at::Tensor& tap : layer.taps) tap = widened(tap);
    if (layer.bias) layer.bias = widened(*layer.bias);
    return layer;
}

at::Tensor call_onednn(const at::Tensor& x, const at::Tensor& weight, const Layer& layer, at::IntArrayRef stride,
                       std::string_view then) {
    static const auto direct = find_operator<Pointwise>("mkldnn::_convolution_pointwise", "");
    return direct.call(x, weight, layer.bias, layer.padding, stride, kOnes, 1, then, Scalars(), std::nullopt);
}

// Note [Transposed by taps]
// oneDNN's transposed convolution takes a scratch map for each thread: with 16 threads the peak of DRUNet was three
// times that of one thread. A 2x2 kernel with stride 2 writes each output pixel once, so it equals four 1x1
// convolutions, one for each position in the 2x2 block. Then only a quarter of the output is held twice, for any number
// of threads.
at::Tensor convolve_taps(const at::Tensor& x, const Layer& layer) {
    const auto [h, w] = std::pair(x.size(2), x.size(3));
    const at::Tensor out =
        at::empty({x.size(0), layer.taps.front().size(0), 2 * h, 2 * w}, x.options(), x.suggest_memory_format());
    for (int64_t i = 0; i < 4; ++i)
        out.slice(2, i / 2, 2 * h, 2)
            .slice(3, i % 2, 2 * w, 2)
            .copy_(call_onednn(x, layer.taps[static_cast<size_t>(i)], layer, kOnes, "none"));
    return out;
}

at::Tensor convolve_onednn(const at::Tensor& x, const Layer& layer, std::string_view then) {
    if (lacks_bf16(x)) return convolve_onednn(widened(x), widened(layer), then).to(at::kBFloat16);
    return layer.transposed ? convolve_taps(x, layer) : call_onednn(x, layer.weight, layer, layer.stride, then);
}

void convolve_onto_onednn(at::Tensor& sum, const at::Tensor& x, const Layer& layer) {
    if (lacks_bf16(x)) {
        at::Tensor wide_sum = widened(sum);
        convolve_onto_onednn(wide_sum, widened(x), widened(layer));
        sum.copy_(wide_sum);
        return;
    }
    static const auto binary = find_operator<PointwiseSum>("mkldnn::_convolution_pointwise_", "binary");
    binary.call(sum, x, layer.weight, layer.bias, layer.padding, layer.stride, kOnes, 1, "add", at::Scalar(1.0),
                std::nullopt, Scalars(), std::nullopt);
}

at::Tensor convolve_cudnn(const at::Tensor& x, const Layer& layer) {
    return at::convolution(x, layer.weight, layer.bias, layer.stride, layer.padding, kOnes, layer.transposed, kZeros,
                           1);
}

/// `values` may be freed after the call.
at::Tensor place(const std::vector<float>& values, at::IntArrayRef shape, const Placement& placement) {
    const at::Tensor host =
        at::from_blob(const_cast<float*>(values.data()), shape, at::TensorOptions().dtype(at::kFloat));
    const auto format = shape.size() == 4 ? placement.format : at::MemoryFormat::Contiguous;
    at::Tensor placed = at::empty(shape, placement.options, format);
    placed.copy_(host);
    return placed;
}

/// The four pixels of the kernel, each as the weight of a 1x1 convolution: (in, out, 2, 2) to four of (out, in, 1, 1).
std::vector<at::Tensor> taps_of(const at::Tensor& weight, const Placement& placement) {
    std::vector<at::Tensor> taps;
    for (int64_t i = 0; i < 4; ++i)
        taps.push_back(
            weight.slice(2, i / 2, i / 2 + 1).slice(3, i % 2, i % 2 + 1).transpose(0, 1).contiguous(placement.format));
    return taps;
}

}  // namespace

bool processor_has_bf16() {
    static const bool has = find_operator<bool()>("mkldnn::_is_mkldnn_bf16_supported", "").call();
    return has;
}

Layer make_layer(const Convolution& convolution, const Placement& placement) {
    const auto& c = convolution;
    const int64_t first = c.transposed ? c.in_channels : c.out_channels;
    const int64_t second = c.transposed ? c.out_channels : c.in_channels;
    require(static_cast<int64_t>(c.weight.size()) == first * second * c.kernel * c.kernel,
            fmt::format("engine: a convolution of {} weights does not have its shape", c.weight.size()));
    const int64_t padding = c.kernel == 3 ? 1 : 0;
    Layer layer{.weight = place(c.weight, {first, second, c.kernel, c.kernel}, placement),
                .taps = {},
                .bias = std::nullopt,
                .stride = {c.stride, c.stride},
                .padding = {padding, padding},
                .transposed = c.transposed,
                .fusion = placement.fusion};
    if (!c.bias.empty()) layer.bias = place(c.bias, {c.out_channels}, placement);
    if (c.transposed && placement.options.device().is_cpu()) {
        require(c.kernel == 2 && c.stride == 2, "engine: a transposed convolution that is not 2x2 with stride 2");
        layer.taps = taps_of(layer.weight, placement);
        layer.weight = at::Tensor();
    }
    return layer;
}

at::Tensor convolve(const at::Tensor& x, const Layer& layer) {
    return x.is_cuda() ? convolve_cudnn(x, layer) : convolve_onednn(x, layer, "none");
}

at::Tensor convolve_relu(const at::Tensor& x, const Layer& layer) {
    if (layer.fusion)
        if (auto fused = layer.fusion->run(x, layer, {.relu = true})) return *std::move(fused);
    return x.is_cuda() ? convolve_cudnn(x, layer).relu_() : convolve_onednn(x, layer, "relu");
}

at::Tensor convolve_add(const at::Tensor& kept, const at::Tensor& x, const Layer& layer) {
    if (layer.fusion)
        if (auto fused = layer.fusion->run(x, layer, {.residual = kept})) return *std::move(fused);
    at::Tensor sum = convolve(x, layer);
    sum.add_(kept);
    return sum;
}

void convolve_onto(at::Tensor& sum, const at::Tensor& x, const Layer& layer) {
    if (layer.fusion && layer.fusion->run(x, layer, {.residual = sum}, sum)) return;
    if (x.is_cuda())
        sum.add_(convolve_cudnn(x, layer));
    else
        convolve_onto_onednn(sum, x, layer);
}

}  // namespace pb::engine::torch_engine
