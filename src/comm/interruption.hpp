// SIGINT, SIGTERM, SIGHUP, SIGUSR1 and the end of --max-time (SIGALRM) ask the run to end soon. The handler only sets a
// flag, which the run reads between batches and repetitions. A second SIGINT ends the process immediately. A SIGHUP
// that is ignored (nohup) stays ignored.
#pragma once

#include <signal.h>

#include <array>
#include <optional>
#include <string>

namespace pb::comm {

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

/// Interrupts the run `seconds` (> 0) from now, unless the guard is destroyed before.
void interrupt_after(double seconds);

/// Seconds left until then; nullopt when interrupt_after was not called.
[[nodiscard]] std::optional<double> seconds_until_interruption();

/// What interruption() returns after interrupt_after(). It stands in the reasons of points that were cut short.
inline constexpr const char* kEndOfTime = "the end of --max-time";

/// The first signal that arrived ("SIGTERM", kEndOfTime); empty when none did. It is known on this rank
/// only: other ranks may not have received it yet.
[[nodiscard]] std::string interruption();

/// Throws Interrupted when a signal came, or the time is over.
void stop_if_interrupted();

/// While it exists, new threads start with all signals blocked. Threads of this layer only look, and leave signals to
/// the main thread, whose sleep a signal then interrupts.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &former_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &former_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t former_{};
};

}  // namespace pb::comm
