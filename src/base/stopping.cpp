#include "base/stopping.hpp"

#include "base/statistics.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>

namespace pb {

namespace {

/// The next number of repetitions to look at: a quarter more.
int64_t look_after(int64_t reps) { return reps + (reps + 3) / 4; }

}  // namespace

StoppingRule::StoppingRule(const StoppingLimits& limits)
    : limits_(limits),
      fewest_(limits.max_reps > 0 ? std::min(limits.min_reps, limits.max_reps) : limits.min_reps),
      next_look_(std::max(limits.min_reps, kFirstLook)) {}

void StoppingRule::add(double sample_s, double elapsed_s) {
    require(!done(), "a repetition after the last one");
    samples_.push_back(sample_s);
    reason_ = decide(elapsed_s);
}

bool StoppingRule::is_narrow() const {
    const auto interval = median_interval(samples_);
    return interval && interval->high - interval->low < limits_.rel_width * median(samples_);
}

StopReason StoppingRule::decide(double elapsed_s) {
    const auto reps = static_cast<int64_t>(samples_.size());
    if (reps < fewest_) return StopReason::none;
    if (reps == next_look_) {
        if (is_narrow()) return StopReason::interval;
        next_look_ = look_after(reps);
    }
    if (reps == limits_.max_reps) return StopReason::max_reps;
    return elapsed_s >= limits_.max_time_s ? StopReason::max_time : StopReason::none;
}

}  // namespace pb
