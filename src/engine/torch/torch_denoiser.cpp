#include "engine/torch/code.hpp"
#include "engine/torch/cuda_backend.hpp"
#include "engine/torch/fusion/fusion.hpp"
#include "engine/torch/library.hpp"
#include "engine/torch/network.hpp"
#include "engine/torch/passes.hpp"
#include "engine/torch/tensors.hpp"
#include "engine/windows.hpp"

#include <ATen/Version.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl_version.h>
#include <torch/headeronly/version.h>

#include <functional>
#include <utility>

namespace pb::engine::torch_engine {

namespace {

std::shared_ptr<Fusion> make_fusion(const EngineOptions& options) {
    auto plans = make_cudnn_plans(options.device.index, options.cudnn_benchmark);
    return std::make_shared<Fusion>(std::move(plans), options.precision, options.layout);
}

/// The word of digits and dots that follows `mark` in `text`; empty when there is none.
std::string version_after(const std::string& text, const std::string& mark) {
    const size_t at = text.find(mark);
    if (at == std::string::npos) return "";
    const size_t begin = at + mark.size();
    return text.substr(begin, text.find_first_not_of("0123456789.", begin) - begin);
}

std::string dotted(int major, int minor, int patch) { return fmt::format("{}.{}.{}", major, minor, patch); }

/// On one stream.
class CudaReplays final : public Replays {
  public:
    /// Resets the allocator's peaks, from which the bytes of captured work are told.
    CudaReplays(std::shared_ptr<CudaBackend> cuda, device::Stream& stream) : cuda_(std::move(cuda)), stream_(stream) {
        reset_cuda_peaks(stream.device().index);
    }
    void run(const ReplayKey& key, const std::function<void()>& work) override { cuda_->repeat(key, stream_, work); }
    [[nodiscard]] int64_t captured_bytes() const override { return cuda_->captured_bytes(); }

  private:
    std::shared_ptr<CudaBackend> cuda_;
    device::Stream& stream_;
};

class TorchDenoiser final : public Denoiser {
  public:
    TorchDenoiser(const Weights& weights, const EngineOptions& options)
        : expected_(expected_views(weights, options)),
          options_(options),
          placement_(placement_of(options)),
          name_(weights.card ? weights.source : std::string(name_of(expected_.kind))) {
        if (options.device.is_cuda())
            cuda_ = make_cuda_backend(options);
        else
            check_cpu_options(options);
        guarded([&] {
            if (cuda_ && options.fusion && weights.has_layers()) placement_.fusion = make_fusion(options);
            if (weights.has_layers())
                network_.emplace(weights, placement_);
            else
                code_ = make_code(weights, placement_);
            device::synchronise_device(options_.device);  // weights were copied on the default stream
        });
    }

    void prepare(const BatchView& in, const BatchView& out, device::Stream& stream) override {
        check_views(expected_, in, out);
        if (cuda_)
            guarded([&] { prepare_cuda(in, out, stream); });
        else if (code_)
            for (int call = 0; call < kCodeWarmUpCalls; ++call) forward(in, out, stream);
    }

    void forward(const BatchView& in, const BatchView& out, device::Stream& stream) override {
        check_views(expected_, in, out);
        guarded([&] {
            if (!cuda_) {
                use_threads(options_.threads);
                run(in, out);
            } else if (!cuda_->replay(in, out, stream)) {
                cuda_->run_on(stream, [&] { run(in, out); });
            }
        });
    }

    [[nodiscard]] std::unique_ptr<BandPass> make_band_pass(const network::BandSchedule& schedule,
                                                           device::Stream& stream) override {
        if (!runs_in_rows()) return Denoiser::make_band_pass(schedule, stream);
        const auto cuda = backend_of_pieces();
        auto replays = cuda && options_.cuda_graph ? std::make_unique<CudaReplays>(cuda, stream) : nullptr;
        return std::make_unique<Bands>(*network_, schedule, runner(stream, cuda), std::move(replays));
    }

    [[nodiscard]] std::unique_ptr<SlabPass> make_slab_pass(const network::ExchangedSlab& slab,
                                                           device::Stream& stream) override {
        if (!runs_in_rows()) return Denoiser::make_slab_pass(slab, stream);
        return std::make_unique<Slab>(*network_, slab, runner(stream, backend_of_pieces()));
    }

    [[nodiscard]] std::unique_ptr<CropPass> make_crop_pass(const network::WindowCrop& crop, int64_t n,
                                                           device::Stream& stream) override {
        if (code_ || options_.cuda_graph || options_.fusion) return nullptr;
        // A checkpoint can hold a relative of the network that was planned for: other layers, computed as a whole.
        if (crop.memory().steps != network_->memory().steps) return nullptr;
        return std::make_unique<Cropped>(*network_, crop, n, expected_, runner(stream, backend_of_pieces()));
    }

    [[nodiscard]] std::vector<StepTime> forward_by_steps(const BatchView& in, const BatchView& out,
                                                         device::Stream& /*stream*/) override {
        if (cuda_ || code_) return {};
        check_views(expected_, in, out);
        StepClock clock;
        on_cpu([&] { run(in, out, &clock); });
        return clock.times();
    }

    [[nodiscard]] int64_t replay_bytes() const override { return cuda_ ? cuda_->captured_bytes() : 0; }

    [[nodiscard]] std::string remark() const override {
        if (placement_.fusion) return placement_.fusion->remark();
        if (cuda_ || options_.precision != Precision::bf16 || processor_has_bf16()) return {};
        return "this processor (" + device::cpu_device().capability +
               ") has no bf16 arithmetic: layers were computed in fp32 and rounded to bf16, so the pixels are those of "
               "bf16, speed and memory are not";
    }

  private:
    template <class Work>
    void guarded(Work&& work) {
        const std::string where = "engine: " + name_ + " on " + std::string(name_of(options_.device.kind));
        translate_errors(
            where, [this] { empty_tensor_cache(options_.device); },
            [&] {
                const c10::InferenceMode inference;
                work();
            });
    }

    /// Whether rows are carried or exchanged.
    [[nodiscard]] bool runs_in_rows() const {
        return !code_ && options_.layout == Layout::channels_last && (cuda_ || options_.precision == Precision::fp32);
    }

    /// For pieces of maps. They have many shapes, for each of which cuDNN would search as long as for whole windows: it
    /// takes what it expects to be fastest. Null on the CPU.
    [[nodiscard]] std::shared_ptr<CudaBackend> backend_of_pieces() const {
        if (!cuda_) return nullptr;
        EngineOptions options = options_;
        options.cudnn_benchmark = false;
        return make_cuda_backend(options);
    }

    [[nodiscard]] Runner runner(device::Stream& stream, std::shared_ptr<CudaBackend> cuda) {
        if (!cuda) return [this](const std::function<void()>& work) { on_cpu(work); };
        return [this, &stream, cuda = std::move(cuda)](const std::function<void()>& work) {
            guarded([&] { cuda->run_on(stream, work); });
        };
    }

    void on_cpu(const std::function<void()>& work) {
        guarded([&] {
            use_threads(options_.threads);
            work();
        });
    }

    void run(const BatchView& in, const BatchView& out, StepClock* clock = nullptr) {
        at::Tensor result = as_tensor(out, placement_.options);
        if (code_)
            code_->run(as_tensor(in, placement_.options), result);
        else
            network_->run(as_tensor(in, placement_.options), result, clock);
    }

    /// The first call tries algorithms and leaves their scratch memory behind. After the second call, or the capture,
    /// only the memory of a forward call is left.
    void prepare_cuda(const BatchView& in, const BatchView& out, device::Stream& stream) {
        const auto work = [&] { run(in, out); };
        if (!cuda_->keep_only(in.shape)) {
            cuda_->run_on(stream, work);
            stream.synchronise();
            empty_cuda_cache();
        }
        if (options_.cuda_graph)
            cuda_->capture(in, out, stream, work);
        else
            cuda_->run_on(stream, work);
        stream.synchronise();
    }

    ExpectedViews expected_;
    EngineOptions options_;
    Placement placement_;
    std::unique_ptr<CudaBackend> cuda_;  // null on the CPU
    std::string name_;
    std::optional<Network> network_;
    std::unique_ptr<Code> code_;  // in its place, where the user brings one
};

}  // namespace

std::unique_ptr<Denoiser> make_torch_denoiser(const Weights& weights, const EngineOptions& options) {
    return std::make_unique<TorchDenoiser>(weights, options);
}

std::vector<device::LibraryVersion> torch_versions() {
    std::vector<device::LibraryVersion> versions{
        {"libtorch", dotted(TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR, TORCH_VERSION_PATCH),
         version_after(at::show_config(), "TORCH_VERSION=")},
        {"onednn", dotted(DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH),
         version_after(at::get_mkldnn_version(), "MKL-DNN v")}};
    for (auto& version : cudnn_versions()) versions.push_back(std::move(version));
    return versions;
}

}  // namespace pb::engine::torch_engine
