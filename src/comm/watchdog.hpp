// Ends a job in which a rank has stopped or died. A thread of each rank counts up in shared memory of the node and
// looks at the counts of the other ranks; when one has not changed for the time-out, it names that rank and aborts the
// job. MPI itself notices a rank that is lost on another node.
#pragma once

#include "comm/communicator.hpp"

#include <memory>

namespace pb::comm {

class Watchdog {
  public:
    /// Collective over `world`. `timeout_s` <= 0 turns it off (for debuggers, which stop ranks). The watchdog's own
    /// thread does the counting: it shows that the process runs, not that its work advances. A job that is suspended as
    /// a whole and resumed is not aborted.
    Watchdog(const Communicator& world, double timeout_s);
    /// Not collective: the other ranks stop watching this one. Uses no MPI: let it outlive the MpiSession (an optional
    /// that is declared before it), so that it also notices a rank that stops while all finalise.
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pb::comm
