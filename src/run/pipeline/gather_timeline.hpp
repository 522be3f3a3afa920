// The spans of all ranks, on one clock, on the root.
#pragma once

#include "run/pipeline/span_log.hpp"
#include "run/point/team.hpp"

namespace pb {

/// A pass that was logged: its spans, and when this rank left the barrier before it (seconds of its own clock).
struct LoggedPass {
    const SpanLog& spans;
    double begin_s = 0;
    bool is_timed = false;
};

/// Collective over the team. Aligns the clocks and puts each rank's timeline into its trace: 0 is when the first rank
/// left the barrier. Complete on the root; elsewhere `ranks` stays as it is.
void gather_timeline(const Team& team, const Topology& topology, const LoggedPass& mine, std::vector<RankTrace>& ranks);

}  // namespace pb
