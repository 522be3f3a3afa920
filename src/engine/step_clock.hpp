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
    /// After each step. `part`: of its map that it computed.
    void add(const network::Step& step, double part = 1) {
        const auto now = Clock::now();
        times_.push_back({step, std::chrono::duration<double>(now - last_).count(), part});
        last_ = now;
    }
    [[nodiscard]] const std::vector<StepTime>& times() const { return times_; }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point last_;
    std::vector<StepTime> times_;
};

}  // namespace pb::engine
