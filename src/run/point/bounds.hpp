// Measures the best rates of the ranks' devices, hosts and links, in the same run as the figures that they are compared
// with.
#pragma once

#include "comm/ping_pong.hpp"
#include "record/point.hpp"
#include "run/point/team.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <map>
#include <tuple>
#include <vector>

namespace pb::run {

/// Measures bounds once for each combination of team, precision and number of threads in a study, links once for each
/// team.
class BoundsCache {
  public:
    /// Collective over the team. All ranks measure at the same time, because they share a node's memory, power and
    /// links. Call it after a point's repetitions: the devices are then warm, nothing is being timed, and the point's
    /// memory has been recorded and freed. It takes about 1 s on a CPU and 2 s on a GPU. A bound that cannot be
    /// measured is absent and never fails the point.
    void add_to(record::PointTrace& trace, Team& team, const engine::EngineOptions& options);
    /// Collective over the team. Call it after a point's repetitions, when nothing is being timed. Does nothing for a
    /// point without an exchange. Otherwise it measures at most four other nodes, one after another, about 0.1 s each,
    /// and keeps the fastest.
    void add_link_to(record::PointTrace& trace, const Team& team);

  private:
    // The number of threads is that of the setting, which is the same on all ranks.
    using Key = std::tuple<const Team*, EngineKind, Precision, int64_t>;
    std::map<Key, std::vector<record::BoundsRecord>> known_;
    std::map<const Team*, comm::PingPong> links_;
};

}  // namespace pb::run
