// Windows of which only the cores are used, with a native network.
#pragma once

#include "engine/alike_windows.hpp"
#include "engine/native/network.hpp"

#include "patchbench/engine/denoiser.hpp"

namespace pb::engine::native {

class Cropped final : public CropPass {
  public:
    /// `network` and `crop` must outlive it. Throws OutOfMemory.
    Cropped(Network& network, const network::WindowCrop& crop, int64_t n, const ExpectedViews& expected);

    void run(const BatchView& in, const BatchView& out, std::span<const Rect> cores) override;
    [[nodiscard]] std::vector<StepTime> run_by_steps(const BatchView& in, const BatchView& out,
                                                     std::span<const Rect> cores) override;

  private:
    void place_maps(const BatchView& in, const BatchView& out, const Rect& core);
    [[nodiscard]] Map map_at(size_t operation, int64_t n, const Rect& core) const;
    [[nodiscard]] double part_of(const network::Step& step) const;

    Network& network_;
    AlikeWindows windows_;
    network::Arena arena_;
    EngineBuffer buffer_;
    Workplace place_;
};

}  // namespace pb::engine::native
