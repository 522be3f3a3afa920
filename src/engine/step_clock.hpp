// Times the steps of a forward call on the CPU one by one.
#pragma once

#include "patchbench/engine/denoiser.hpp"

#include <chrono>
#include <vector>

namespace pb::engine {

class StepClock {
  public:
    /// Before the first step.
    void start() { last_ = Clock::now(); }
    /// After each step.
    void add(const network::Step& step) {
        const auto now = Clock::now();
        times_.push_back({step, std::chrono::duration<double>(now - last_).count()});
        last_ = now;
    }
    [[nodiscard]] const std::vector<StepTime>& times() const { return times_; }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point last_;
    std::vector<StepTime> times_;
};

}  // namespace pb::engine
