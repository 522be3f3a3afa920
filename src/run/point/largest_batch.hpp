// The search of `batch: largest`.
#pragma once

#include "run/point/batch_trial.hpp"

namespace pb::run {

/// Doubles the batch from 1 until it does not fit (the device's memory, memory_limit_mib, 32-bit indices) or the
/// largest share has no more windows. It then bisects, and tries the answer once more with an empty cache; if that
/// fails, it tries the next smaller batch. found = 0 when not even one window fits. Collective. Throws as `try_batch`.
[[nodiscard]] record::BatchSearch find_largest_batch(const TrialBench& bench);

/// Returns the largest batch and records the search in the trace. Throws PointFailed when nothing fits. Collective.
[[nodiscard]] int64_t search_largest(const TrialBench& bench, record::PointTrace& trace);

}  // namespace pb::run
