// The independent serial path: fp32, contiguous, one window at a time, input read again from the source. What a fast
// pipeline's output is compared with, and what probes are run through. It shares the network's layers with the pipeline
// and nothing else: window, padding, scale, gain and sigma channel are its own.
#pragma once

#include "run/pixels/image_source.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace pb {

class ReferencePath {
  public:
    /// `sigma`: the noise level that the network is told, [0,1] units. `weights` and `source` must outlive it.
    ReferencePath(const Weights& weights, DeviceId device, int threads, double sigma, ImageSource& source);

    /// Output of the network for the window `seen` (image coordinates, may reach beyond the image): f32, extent of
    /// `seen`, [0,1] units; samples that are no data as the network saw them.
    [[nodiscard]] Image run(const Rect& seen);

    /// `wanted` with all the context that can reach it (halo `context` on each side, cut at the border of the padded
    /// image): what the whole image would give there. Both multiples of the alignment.
    [[nodiscard]] Image run_with_context(const Rect& wanted, int64_t context, Extent padded);

    [[nodiscard]] ImageSource& source() { return source_; }
    [[nodiscard]] const Weights& weights() const { return weights_; }
    [[nodiscard]] double gain() const { return gain_; }

  private:
    [[nodiscard]] Image read(const Rect& inside);
    [[nodiscard]] std::vector<float> network_input(const Rect& seen);

    const Weights& weights_;
    DeviceId device_;
    ImageSource& source_;
    double gain_ = 1;             // what samples are multiplied with for the network, and divided by after it
    std::optional<float> sigma_;  // value of the network's extra input channel
    Stream stream_;
    std::unique_ptr<Denoiser> denoiser_;
};

/// `part` of `image`, whose first pixel is at `origin`.
[[nodiscard]] Image crop(const Image& image, const Rect& origin, const Rect& part);

}  // namespace pb
