// Windows of which only the cores are used, with LibTorch.
#pragma once

#include "engine/alike_windows.hpp"
#include "engine/torch/network.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <vector>

namespace pb::engine::torch_engine {

/// Maps are allocated in each call, as those of whole windows.
class Cropped final : public CropPass {
  public:
    /// `network`, the crop of `windows` and what `runner` holds must outlive it.
    Cropped(const Network& network, AlikeWindows windows, at::TensorOptions options, Runner runner);

    void run(const BatchView& in, const BatchView& out, std::span<const Rect> cores) override;
    [[nodiscard]] std::vector<StepTime> run_by_steps(const BatchView& in, const BatchView& out,
                                                     std::span<const Rect> cores) override;

  private:
    struct Kind {
        Rect core;
        std::vector<network::PieceStep> steps;
    };

    void run_alike(const BatchView& in, const BatchView& out, const Rect& core, StepClock* clock);
    /// Makes the steps of each core once: an image has few different ones.
    const std::vector<network::PieceStep>& steps_for(const Rect& core);

    const Network& network_;
    AlikeWindows windows_;
    at::TensorOptions options_;
    Runner runner_;
    std::vector<Kind> kinds_;
};

}  // namespace pb::engine::torch_engine
