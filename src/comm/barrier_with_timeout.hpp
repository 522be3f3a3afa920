// A barrier with a time-out: when a rank hangs (say, in a call of a driver), the error names it, and the others do not
// wait for ever.
#pragma once

#include "comm/communicator.hpp"

#include <string>
#include <vector>

namespace pb::comm::mpi {

class BarrierWithTimeout {
  public:
    /// Collective. Its messages have a communicator of their own, so that a late one disturbs no other call.
    explicit BarrierWithTimeout(const Communicator& communicator);
    /// Collective: returns on all ranks once all have arrived. Rank 0 waits `timeout_s` and then throws RanksMissing,
    /// which names `what` and the missing ranks with their hosts; the ranks that arrived wait until the job is ended
    /// (MpiSession::abort). Rank 1 waits twice as long for rank 0 and then throws the same error about it.
    void operator()(const std::string& what, double timeout_s) const;

  private:
    Communicator communicator_;
    std::vector<std::string> hosts_;
};

}  // namespace pb::comm::mpi
