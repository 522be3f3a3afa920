// The independent serial path: fp32, one window at a time, input read again from the source. The output of
// the pipeline is compared with it, and probes use it. It shares only the network's layers with the pipeline; it has
// its own code for window, padding, scale, gain and sigma channel.
#pragma once

#include "network/parts/window_crop.hpp"
#include "run/pixels/image_source.hpp"
#include "run/verify/reach.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pb::run {

/// The engine of a ReferencePath for a network that the user brings, and a note on which it is.
struct ReferenceEngine {
    std::shared_ptr<engine::Denoiser> denoiser;
    std::string note;
};
using MakeEngine = std::function<std::shared_ptr<engine::Denoiser>(const engine::EngineOptions&)>;

/// Takes another engine of those that run the file: OpenVINO for ONNX Runtime, the process of PyTorch for TorchScript
/// in torch. Where it is not installed, or does not take the network, the serial path of the same engine, which the
/// note says. `options`: of the pipeline.
[[nodiscard]] ReferenceEngine make_custom_reference(const engine::Weights& weights, engine::EngineOptions options,
                                                    const MakeEngine& make);

/// The options of the engine of a ReferencePath beside a pipeline of `pipeline`. On a CPU LibTorch takes half of the
/// time with the channels of a pixel side by side. But beside the engine torch, which may have them so, its kernels are
/// to be others.
[[nodiscard]] engine::EngineOptions reference_options(DeviceId device, int threads, EngineKind pipeline);

/// Whether the path computes only what is used of a window. On a GPU it does not: the engine's cropped calls there have
/// not been proven yet.
[[nodiscard]] bool can_crop(const engine::Weights& weights, DeviceKind device);

/// What it then computes of a window of which `core` is used.
[[nodiscard]] network::WindowCrop crop_to(const network::Graph& graph, Extent window, const Rect& core);

class ReferencePath {
  public:
    /// `denoiser` computes in fp32 in `layout`. `sigma`: the noise level that is passed to the network, [0,1] units.
    /// `weights` and `source` must outlive it.
    ReferencePath(const engine::Weights& weights, std::shared_ptr<engine::Denoiser> denoiser, Layout layout,
                  DeviceId device, double sigma, ImageSource& source);

    /// Returns the output of the network for the window `seen` (image coordinates, may extend beyond the image): f32,
    /// extent of `seen`, [0,1] units. Gaps have the values of the network's input.
    [[nodiscard]] image::Image run(const Rect& seen);

    /// Returns the output for `wanted`, computed with a halo of `context` on each side, cut at the border of the padded
    /// image. If `context` is the network's reach, it equals the output for the whole image. `context` and the first
    /// row and column of `wanted` must be multiples of the alignment. Cropped where can_crop() says so.
    [[nodiscard]] image::Image run_with_context(const Rect& wanted, int64_t context, Extent padded);

    [[nodiscard]] ImageSource& source() { return source_; }
    [[nodiscard]] const engine::Weights& weights() const { return weights_; }
    [[nodiscard]] const Reach& reach() const { return reach_; }
    [[nodiscard]] double gain() const { return gain_; }
    [[nodiscard]] Layout layout() const { return layout_; }

  private:
    /// The output for the window `seen`, of which only `core`, within the window, is used.
    [[nodiscard]] image::Image compute(const Rect& seen, const Rect& core);
    void forward(const BatchView& in, const BatchView& out, const Rect& core);
    [[nodiscard]] image::Image read(const Rect& inside);
    [[nodiscard]] std::vector<float> network_input(const Rect& seen);
    /// Where a value lies in memory, of `channels` of `pixels`.
    [[nodiscard]] size_t place(int64_t channel, int64_t pixel, int64_t channels, int64_t pixels) const;

    const engine::Weights& weights_;
    Layout layout_;
    DeviceId device_;
    ImageSource& source_;
    Reach reach_;
    double gain_ = 1;             // factor on samples before the network; the output is divided by it
    std::optional<float> sigma_;  // value of the network's extra input channel
    device::Stream stream_;
    std::shared_ptr<engine::Denoiser> denoiser_;
};

/// Returns `part` of `image`, whose first pixel is at `origin`.
[[nodiscard]] image::Image crop(const image::Image& image, const Rect& origin, const Rect& part);

}  // namespace pb::run
