// Measures the difference between the clocks of hosts: the monotonic clock of each host starts at another time.
#pragma once

#include "run/pipeline/stopwatch.hpp"
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
[[nodiscard]] ClockOffset measure_clock_offset(const Team& team, const plan::Topology& topology,
                                               const std::function<double()>& clock = monotonic_seconds);

}  // namespace pb::run
