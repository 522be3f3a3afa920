// The search behind `batch: largest`.
#pragma once

#include "run/point/batch_trial.hpp"

namespace pb {

/// Doubles from 1 until a batch does not fit (the device's memory, memory_limit_mib, 32-bit indices) or the largest
/// share has no more windows, bisects, and runs the answer once more from an empty cache; where that fails it steps
/// down. found = 0 where not even one window fits. Collective; throws as `try_batch`.
[[nodiscard]] BatchSearch find_largest_batch(const TrialBench& bench);

/// Its answer, with how it was found in the trace. PointFailed where nothing fits. Collective.
[[nodiscard]] int64_t search_largest(const TrialBench& bench, PointTrace& trace);

}  // namespace pb
