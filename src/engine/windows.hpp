// Windows as engines get them: the checks that all engines make before they touch a pointer, and, for cropped ones, the
// runs of windows with the same core, which go through the network together.
#pragma once

#include "engine/progress.hpp"
#include "network/parts/window_crop.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <functional>
#include <span>
#include <vector>

namespace pb::engine {

struct ExpectedViews {
    network::NetworkKind kind;
    int64_t channels_in;
    int64_t channels_out;
    int64_t alignment;   // extents are multiples of it
    int64_t widest_map;  // in values per pixel
    DType dtype{};
    Layout layout{};
    DeviceId device{};
};

[[nodiscard]] ExpectedViews expected_views(const Weights& weights, const EngineOptions& options);

/// Throws Error when a view does not fit, and IndexLimit when one sample would have 2^31 elements or more in the widest
/// layer: more than 32-bit indices of LibTorch and cuDNN can address, whatever the memory.
void check_views(const ExpectedViews& expected, const BatchView& in, const BatchView& out);

class AlikeWindows {
  public:
    /// Up to `n` windows. `crop` must outlive it.
    AlikeWindows(const network::WindowCrop& crop, int64_t n, const ExpectedViews& expected)
        : crop_(crop), most_windows_(n), expected_(expected) {}

    [[nodiscard]] const network::WindowCrop& crop() const { return crop_; }

    using Run = std::function<void(const BatchView& in, const BatchView& out, const Rect& core)>;
    /// Calls `run` with the windows of each run of neighbours that have one core. Throws Error where views or cores are
    /// not those that the crop was made for.
    void each(const BatchView& in, const BatchView& out, std::span<const Rect> cores, const Run& run) const;

    /// The same with calls whose steps are timed: seconds of all, parts on average.
    using TimedRun = std::function<void(const BatchView& in, const BatchView& out, const Rect& core, StepClock& clock)>;
    [[nodiscard]] std::vector<StepTime> each_by_steps(const BatchView& in, const BatchView& out,
                                                      std::span<const Rect> cores, const TimedRun& run) const;

  private:
    void check(const BatchView& in, const BatchView& out, std::span<const Rect> cores) const;

    const network::WindowCrop& crop_;
    int64_t most_windows_;
    ExpectedViews expected_;
};

}  // namespace pb::engine
