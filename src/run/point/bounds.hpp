// What the ranks' devices and hosts reach at best, measured in the run that they are set beside.
#pragma once

#include "record/point.hpp"
#include "run/point/team.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <map>
#include <tuple>
#include <vector>

namespace pb {

/// Measures once for each team, precision and number of threads of a study.
class BoundsCache {
  public:
    /// Collective over the team, whose ranks measure at the same time: they share a node's memory, power and links. To
    /// be called when a point's repetitions are over: the devices are then warm, nothing is being timed, the counters
    /// of memory have been read and its buffers are gone. About a second on the CPU, two on a GPU; what cannot be
    /// measured is absent and never fails the point.
    void add_to(PointTrace& trace, Team& team, const EngineOptions& options);

  private:
    // Threads by the setting: the same on all ranks.
    using Key = std::tuple<const Team*, EngineKind, Precision, int64_t>;
    std::map<Key, std::vector<BoundsRecord>> known_;
};

}  // namespace pb
