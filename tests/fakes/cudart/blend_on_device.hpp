// The blend of support/blend_denoiser.hpp as a kernel, and the engine's buffers, which come from cudaMalloc here.
#pragma once

#include "patchbench/engine/denoiser.hpp"

namespace pb::fakes {

class BlendOnDevice final : public engine::Denoiser {
  public:
    /// Runs it, as an engine does that searches for its fastest way.
    void prepare(const BatchView& in, const BatchView& out, device::Stream& stream) override;
    void forward(const BatchView& in, const BatchView& out, device::Stream& stream) override;
};

}  // namespace pb::fakes
