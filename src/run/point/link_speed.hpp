// Measures the link between the root's node and the others, in the same run as the exchange that it is compared with.
#pragma once

#include "comm/ping_pong.hpp"
#include "record/point.hpp"
#include "run/point/team.hpp"

#include <map>

namespace pb::run {

/// Measures once for each team of a study.
class LinkSpeeds {
  public:
    /// Collective over the team. Call it after a point's repetitions, when nothing is being timed. Does nothing for a
    /// point without an exchange. Otherwise it measures at most four other nodes, one after another, about 0.1 s each,
    /// and keeps the fastest.
    void add_to(record::PointTrace& trace, const Team& team);

  private:
    std::map<const Team*, comm::PingPong> known_;
};

}  // namespace pb::run
