// Gathers the spans of all ranks on the root and converts them to one clock: the monotonic clock of each host starts
// at another time.
#pragma once

#include "base/stopwatch.hpp"
#include "run/pipeline/span_log.hpp"
#include "run/point/team.hpp"

#include <functional>

namespace pb::run {

/// This rank's clock is ahead of rank 0's by `offset_s`, with an error of at most `error_s`. Both are 0 on rank 0's
/// host.
struct ClockOffset {
    double offset_s = 0;
    double error_s = 0;
};

/// Collective over the team. The first rank of each other host repeatedly asks rank 0 for the time, and the exchange
/// with the shortest round trip is used (Cristian 1989). Rank 0 answers between question and answer, so half of the
/// round trip bounds the error even if the two directions take different times. `clock` returns this rank's time in
/// seconds.
[[nodiscard]] ClockOffset measure_clock_offset(const Team& team,
                                               const std::function<double()>& clock = monotonic_seconds);

/// A recorded pass: its spans, and the time at which this rank left the barrier before it (seconds of its own clock).
struct LoggedPass {
    const SpanLog& spans;
    double begin_s = 0;
    bool is_timed = false;
};

/// Collective over the team. Aligns the clocks and writes the timeline of each rank into its trace; 0 is when the first
/// rank left the barrier. Only the root's `ranks` are changed.
void gather_timeline(const Team& team, const LoggedPass& mine, std::vector<record::RankTrace>& ranks);

}  // namespace pb::run
