// Gathers the spans of all ranks on the root and converts them to one clock.
#pragma once

#include "run/pipeline/span_log.hpp"
#include "run/point/team.hpp"

namespace pb::run {

/// A recorded pass: its spans, and the time at which this rank left the barrier before it (seconds of its own clock).
struct LoggedPass {
    const SpanLog& spans;
    double begin_s = 0;
    bool is_timed = false;
};

/// Collective over the team. Aligns the clocks and writes the timeline of each rank into its trace; 0 is when the first
/// rank left the barrier. Only the root's `ranks` are changed.
void gather_timeline(const Team& team, const plan::Topology& topology, const LoggedPass& mine,
                     std::vector<record::RankTrace>& ranks);

}  // namespace pb::run
