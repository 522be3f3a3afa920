// SIGINT, SIGTERM and SIGUSR1 as a wish to end soon: the handler only sets a flag, the run looks at it between batches
// and repetitions. A second SIGINT ends the process at once.
#pragma once

#include <string>

namespace pb {

/// Installs the handlers for the lifetime of the object and restores the old ones.
class InterruptionGuard {
  public:
    InterruptionGuard();
    ~InterruptionGuard();
    InterruptionGuard(const InterruptionGuard&) = delete;
    InterruptionGuard& operator=(const InterruptionGuard&) = delete;
};

/// Name of the signal that came ("SIGTERM"), empty when none did.
[[nodiscard]] std::string interruption();

}  // namespace pb
