// SIGINT, SIGTERM, SIGHUP, SIGUSR1 and the end of --max-time (SIGALRM) as a wish to end soon: the handler only sets a
// flag, the run looks at it between batches and repetitions. A second SIGINT ends the process at once; a SIGHUP that is
// ignored (nohup) stays ignored.
#pragma once

#include <signal.h>

#include <array>
#include <optional>
#include <string>

namespace pb {

/// Forgets earlier signals, installs the handlers for the lifetime of the object and restores the old ones. One at a
/// time.
class InterruptionGuard {
  public:
    InterruptionGuard();
    ~InterruptionGuard();
    InterruptionGuard(const InterruptionGuard&) = delete;
    InterruptionGuard& operator=(const InterruptionGuard&) = delete;

  private:
    static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM};
    std::array<struct sigaction, kSignals.size()> former_{};
};

/// From now on in `seconds` (> 0) the wish comes by itself, unless the guard ends before.
void interrupt_after(double seconds);

/// How long that is from now; none where no end was set.
[[nodiscard]] std::optional<double> seconds_until_interruption();

/// What came first ("SIGTERM", "the end of --max-time"), empty when none did. This rank's own: others may have had none
/// yet.
[[nodiscard]] std::string interruption();

/// Throws Interrupted when a signal came, or the time is over.
void stop_if_interrupted();

}  // namespace pb
