// How far the clocks of hosts are apart: each counts its monotonic seconds from another start.
#pragma once

#include "run/pipeline/stopwatch.hpp"
#include "run/point/team.hpp"

#include <functional>

namespace pb {

/// This rank's clock is ahead of rank 0's by `offset_s`, give or take `error_s`. Both are 0 on rank 0's host.
struct ClockOffset {
    double offset_s = 0;
    double error_s = 0;
};

/// Collective over the team. The first rank of each other host asks rank 0 for the time again and again; the exchange
/// that came back soonest counts (Cristian 1989): rank 0 answered some time between question and answer, so half of the
/// round trip bounds the error, however unequal the two ways are. `clock` is this rank's, in seconds.
[[nodiscard]] ClockOffset measure_clock_offset(const Team& team, const Topology& topology,
                                               const std::function<double()>& clock = monotonic_seconds);

}  // namespace pb
