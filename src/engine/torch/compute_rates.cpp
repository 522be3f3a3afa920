#include "device/best_rates.hpp"
#include "engine/torch/cuda_backend.hpp"
#include "engine/torch/layer.hpp"
#include "engine/torch/library.hpp"
#include "engine/torch/tensors.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <c10/core/InferenceMode.h>

#include <cmath>
#include <string_view>

namespace pb::engine::torch_engine {

namespace {

constexpr int64_t kChannels = 64;

// Large enough that the start of a call costs little; on the CPU small enough that many calls fit into the budget.
constexpr int64_t kGpuMatrixEdge = 8192;
constexpr int64_t kCpuMatrixEdge = 512;
constexpr Shape kGpuMaps{8, kChannels, 512, 512};
constexpr Shape kCpuMaps{1, kChannels, 128, 128};  // one map per thread

/// Times one operator of the engine on its own memory.
class Bench {
  public:
    explicit Bench(EngineOptions options) : options_(std::move(options)), stream_(options_.device) {
        options_.layout = Layout::channels_last;
        options_.cudnn_benchmark = true;  // for the highest rate
        if (is_cuda())
            cuda_ = make_cuda_backend(options_);
        else
            check_cpu_options(options_);
        placement_ = placement_of(options_);
        if (!is_cuda() && !processor_has_bf16()) placement_.options = placement_.options.dtype(at::kFloat);
    }

    [[nodiscard]] bool is_cuda() const { return options_.device.is_cuda(); }
    [[nodiscard]] int64_t threads() const { return options_.threads; }
    [[nodiscard]] const Placement& placement() const { return placement_; }

    /// Normally distributed values: the clock rate of a GPU depends on the values that it multiplies.
    [[nodiscard]] at::Tensor filled(at::IntArrayRef shape) const {
        const auto format = shape.size() == 4 ? placement_.format : at::MemoryFormat::Contiguous;
        return at::empty(shape, placement_.options, format).normal_();
    }

    /// Times the call that `prepare` returns.
    template <class Prepare>
    double seconds(double budget_s, const Prepare& prepare) {
        double found_s = 0;
        translate_errors(
            "upper bound", [this] { empty_tensor_cache(options_.device); },
            [&] {
                const c10::InferenceMode inference;
                if (!is_cuda()) use_threads(options_.threads);
                const auto call = prepare();
                device::synchronise_device(options_.device);  // operands were copied on the default stream
                found_s =
                    device::seconds_of_call(stream_, budget_s, [&] { cuda_ ? cuda_->run_on(stream_, call) : call(); });
                if (is_cuda()) release_cublas_workspaces();
            });
        return found_s;
    }

  private:
    EngineOptions options_;
    device::Stream stream_;
    Placement placement_;
    std::unique_ptr<CudaBackend> cuda_;  // null on the CPU
};

/// On the CPU it calls the library of the convolutions by name, see layer.cpp.
at::Tensor multiply(const at::Tensor& a, const at::Tensor& b) {
    if (a.is_cuda()) return at::mm(a, b);
    using Scalars = c10::List<std::optional<at::Scalar>>;
    using Linear = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, std::string_view,
                              Scalars, std::optional<std::string_view>);
    static const auto linear =
        c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_linear_pointwise", "").typed<Linear>();
    return linear.call(a, b, std::nullopt, "none", Scalars(), std::nullopt);
}

Convolution convolution_64() {
    Convolution convolution{{.out_channels = kChannels, .in_channels = kChannels, .kernel = 3}, {}, {}};
    for (int64_t i = 0; i < kChannels * kChannels * 9; ++i)
        convolution.weight.push_back(static_cast<float>(std::sin(static_cast<double>(i)) / 24));
    return convolution;
}

}  // namespace

double matmul_tflops(const EngineOptions& options, double budget_s) {
    Bench bench(options);
    const int64_t edge = bench.is_cuda() ? kGpuMatrixEdge : kCpuMatrixEdge;
    const int64_t rows = bench.is_cuda() ? edge : edge * bench.threads();
    const double seconds = bench.seconds(budget_s, [&] {
        return [a = bench.filled({rows, edge}), b = bench.filled({edge, edge})] { (void)multiply(a, b); };
    });
    return 2.0 * static_cast<double>(rows * edge * edge) / seconds * 1e-12;
}

double conv_tflops(const EngineOptions& options, double budget_s) {
    Bench bench(options);
    Shape maps = bench.is_cuda() ? kGpuMaps : kCpuMaps;
    if (!bench.is_cuda()) maps.n = bench.threads();
    const double seconds = bench.seconds(budget_s, [&] {
        return [x = bench.filled({maps.n, maps.c, maps.h, maps.w}),
                layer = make_layer(convolution_64(), bench.placement())] { (void)convolve(x, layer); };
    });
    return 2.0 * static_cast<double>(kChannels * kChannels * 9 * maps.pixels()) / seconds * 1e-12;
}

}  // namespace pb::engine::torch_engine
