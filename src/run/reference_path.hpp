// The independent serial path: fp32, contiguous, one window at a time, input taken afresh from the source. What a fast
// pipeline's output is compared with, and what probes are run through.
#pragma once

#include "patchbench/engine/denoiser.hpp"
#include "patchbench/run/image_source.hpp"
#include "patchbench/run/pipeline.hpp"

#include <map>
#include <memory>

namespace pb {

class ReferencePath {
  public:
    ReferencePath(const Weights& weights, DeviceId device, int threads, const Conversion& conversion,
                  ImageSource& source);

    /// Output of the network for the window `seen` (image coordinates, may reach beyond the image): f32, extent of
    /// `seen`.
    [[nodiscard]] Image run(const Rect& seen);

    /// `wanted` with all the context that can reach it (halo `context` on each side, cut at the border of the padded
    /// image): what the whole image would give there. Both multiples of the alignment.
    [[nodiscard]] Image run_with_context(const Rect& wanted, int64_t context, Extent padded);

    [[nodiscard]] ImageSource& source() { return source_; }

  private:
    [[nodiscard]] Image read_padded(const Rect& seen);

    DeviceId device_;
    Conversion conversion_;
    ImageSource& source_;
    Stream stream_;
    std::unique_ptr<Denoiser> denoiser_;
};

/// `part` of `image`, whose first pixel is at `origin`.
[[nodiscard]] Image crop(const Image& image, const Rect& origin, const Rect& part);

}  // namespace pb
