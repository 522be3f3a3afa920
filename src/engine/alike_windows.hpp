// What the engines share that compute cropped windows: windows with the same core go through the network together.
#pragma once

#include "engine/step_clock.hpp"
#include "engine/views.hpp"
#include "network/window_crop.hpp"

#include <functional>
#include <span>
#include <vector>

namespace pb::engine {

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
