// What else went on on the hosts while a point was timed, in words, from what their kernels counted. Pure.
#pragma once

#include "base/telemetry_record.hpp"

#include <span>
#include <string>

namespace pb {

/// A rank that took part, and what was counted while it was watched.
struct RankLoad {
    std::string host;
    const TelemetryRecord* record;
};

/// "node1: other processes used 1.3 cores, something waited for a core 34 % of the time"; several hosts are joined by
/// "; ". Only what is large enough to move a time by percents is named. Empty: nothing was, or nothing could be read.
[[nodiscard]] std::string disturbance_of(std::span<const RankLoad> ranks);

/// The part of `disturbance_of` that only other processes and the hypervisor can cause: cores that they took.
[[nodiscard]] std::string foreign_work_of(std::span<const RankLoad> ranks);

}  // namespace pb
