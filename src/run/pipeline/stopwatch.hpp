// Host time by the monotonic clock.
#pragma once

#include <chrono>

namespace pb {

/// Seconds of this host's monotonic clock; what they count from is the host's own.
[[nodiscard]] inline double monotonic_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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
