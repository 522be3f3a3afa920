// What counters of devices and hosts said, as part of a point's line.
#pragma once

#include "report/json_values.hpp"

namespace pb {

/// Null when no rank has anything to say.
[[nodiscard]] Json telemetry_json(const PointTrace& trace);

}  // namespace pb
