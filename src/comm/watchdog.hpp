// Ends a job whose ranks no longer move: each rank of a node beats in shared memory; a thread of each rank looks at the
// others and aborts the job, naming who is missing, when one has not beaten for the time-out. Between nodes a lost rank
// is seen by MPI itself.
#pragma once

#include "comm/communicator.hpp"

#include <memory>

namespace pb {

class Watchdog {
  public:
    /// Collective over `world`. `timeout_s` <= 0: no watching (for debuggers, which stop ranks). Beating is done by the
    /// watchdog's own thread: it shows that the process runs (not stopped, not dead), not that its work advances. A job
    /// that is suspended as a whole and resumed lives on.
    Watchdog(const Communicator& world, double timeout_s);
    /// Not collective: the others stop watching this rank. Uses no MPI: let it outlive the MpiSession (an optional that
    /// is declared before it), so that a rank which stops while all finalise is seen, too.
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pb
