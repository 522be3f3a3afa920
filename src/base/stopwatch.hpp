// Time on the host's monotonic clock.
#pragma once

#include <chrono>

namespace pb {

/// Seconds of this host's monotonic clock. Its zero differs between hosts.
[[nodiscard]] inline double monotonic_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Measures the seconds since its construction on the monotonic clock.
class Stopwatch {
  public:
    [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
    /// Returns the seconds so far and starts again from 0.
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
