// Who is there? A barrier that ends: a rank that hangs in a driver's call is named instead of waited for.
#pragma once

#include "comm/communicator.hpp"

#include <string>
#include <vector>

namespace pb::mpi {

class BarrierWithTimeout {
  public:
    /// Collective. Has messages of its own, so that an answer which comes too late disturbs nobody.
    explicit BarrierWithTimeout(const Communicator& communicator);
    /// Collective: returns on all ranks once all have come. Rank 0 waits `timeout_s` and then throws RanksMissing that
    /// names `what` and the missing ranks with their hosts; those that came stay until the job is ended
    /// (MpiSession::abort). Rank 1 waits twice as long for rank 0 and then throws the same about it.
    void operator()(const std::string& what, double timeout_s) const;

  private:
    Communicator communicator_;
    std::vector<std::string> hosts_;
};

}  // namespace pb::mpi
