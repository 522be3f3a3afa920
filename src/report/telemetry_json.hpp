// What counters of devices and hosts said, what these reach at best, and measurements that were not kept, as parts of a
// point's line.
#pragma once

#include "report/json_values.hpp"

namespace pb {

/// Null when no rank has anything to say.
[[nodiscard]] Json telemetry_json(const PointTrace& trace);

/// Null where no rank measured any.
[[nodiscard]] Json bounds_json(const PointTrace& trace);

/// Measurements of the point before the one whose samples are in the line.
[[nodiscard]] Json discarded_json(const PointTrace& trace);

}  // namespace pb
