// How long one call of some work takes on a stream, with nothing else in its way: for upper bounds. Points are timed by
// `run`, by another rule.
#pragma once

#include "patchbench/device/stream.hpp"

#include <functional>

namespace pb::device {

/// Median seconds of one call of `work`, which enqueues on `stream` (CPU: computes at the call). The first call is not
/// counted; then calls are timed in groups that last long enough for the clock, for `budget_s` and at least three
/// times.
[[nodiscard]] double seconds_of_call(Stream& stream, double budget_s, const std::function<void()>& work);

}  // namespace pb::device
