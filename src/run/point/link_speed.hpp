// What the link between the root's node and the others can do, measured in the run whose exchange is set beside it.
#pragma once

#include "comm/ping_pong.hpp"
#include "record/point.hpp"
#include "run/point/team.hpp"

#include <map>

namespace pb {

/// Measures once for each team of a study.
class LinkSpeeds {
  public:
    /// Collective over the team. To be called when a point's repetitions are over: nothing is being timed. Does nothing
    /// for a point without an exchange; else takes about 0.1 s for each of at most four other nodes, one after the
    /// other, and keeps the fastest.
    void add_to(PointTrace& trace, const Team& team);

  private:
    std::map<const Team*, PingPong> known_;
};

}  // namespace pb
