// How long each step of a forward call takes.
#pragma once

#include "base/stopwatch.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <vector>

namespace pb::engine {

class StepClock {
  public:
    /// Before the first step.
    void start() { watch_ = {}; }
    /// After each step. `part`: of its map that it computed.
    void add(const network::Step& step, double part = 1) { times_.push_back({step, watch_.lap(), part}); }
    [[nodiscard]] const std::vector<StepTime>& times() const { return times_; }

  private:
    Stopwatch watch_;
    std::vector<StepTime> times_;
};

}  // namespace pb::engine
