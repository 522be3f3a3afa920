// Host time by the monotonic clock.
#pragma once

#include <chrono>

namespace pb {

/// Seconds since construction, by the monotonic clock.
class Stopwatch {
  public:
    [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
    /// Seconds so far; starts again.
    double lap() {
        const auto now = Clock::now();
        const double seconds = std::chrono::duration<double>(now - start_).count();
        start_ = now;
        return seconds;
    }

  private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_ = Clock::now();
};

}  // namespace pb
