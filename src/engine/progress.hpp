// What a pass tells of its progress: the layers that are done, for a progress bar, and how long each step took.
#pragma once

#include "patchbench/engine/denoiser.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace pb::engine {

class LayerReport {
  public:
    virtual ~LayerReport() = default;
    /// The pass calls `done` after each layer of a step with the number of layers that are done, and of all.
    void report_layers(std::function<void(int64_t, int64_t)> done) { layer_done_ = std::move(done); }

  protected:
    void tell_layer(int64_t done, int64_t all) const {
        if (layer_done_) layer_done_(done, all);
    }

  private:
    std::function<void(int64_t, int64_t)> layer_done_;
};

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
