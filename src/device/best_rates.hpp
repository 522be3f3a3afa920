// What one call of some work takes at best, and what copies reach at best: for upper bounds.
#pragma once

#include "patchbench/base/device_id.hpp"
#include "patchbench/device/stream.hpp"

#include <functional>

namespace pb::device {

/// Median seconds of one call of `work`, which enqueues on `stream` (CPU: computes at the call), with nothing else in
/// its way. The first call is not counted; then calls are timed in groups that last long enough for the clock, for
/// `budget_s` and at least three times. Points are timed by `run`, by another rule.
[[nodiscard]] double seconds_of_call(Stream& stream, double budget_s, const std::function<void()>& work);

// What copies reach at best on this rank's host and device, in GB/s (1e9 bytes). Each function takes about `budget_s`
// seconds and memory that no cache holds; OutOfMemory where there is none.

/// Within host memory, by `threads` threads at the same time, each with memory of its own. Every byte counts twice: it
/// is read and written.
[[nodiscard]] double host_copy_gb_per_s(int threads, double budget_s);

/// Within the memory of a CUDA device; every byte counts twice.
[[nodiscard]] double device_copy_gb_per_s(DeviceId device, double budget_s);

/// From pinned host memory to a CUDA device, and back; every byte counts once.
[[nodiscard]] double h2d_gb_per_s(DeviceId device, double budget_s);
[[nodiscard]] double d2h_gb_per_s(DeviceId device, double budget_s);

}  // namespace pb::device
