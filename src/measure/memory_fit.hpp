// Fits the peak memory over the batch, peak = base + per_window * batch, and predicts the largest batch. Pure.
#pragma once

#include "plan/plan.hpp"
#include "plan/topology.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace pb::measure {

struct BatchPeak {
    int64_t batch = 1;
    double peak_mib = 0;
};

struct MemoryFit {
    double base_mib = 0;
    double per_window_mib = 0;
    double largest_deviation = 0;         // |measured - fit| / measured
    int64_t largest_deviation_batch = 1;  // batch of the largest deviation

    /// Returns nothing when the fit does not grow with the batch; 0 when not even one window would fit.
    [[nodiscard]] std::optional<int64_t> largest_batch(double limit_mib) const;
};

/// Returns the memory that the engine of one rank may use: memory_limit_mib, or the memory of the smallest device that
/// takes part. Nothing on a CPU without a limit.
[[nodiscard]] std::optional<double> memory_limit_of(const plan::Point& point, const plan::Topology& topology);

/// Fits by least squares. Returns nothing for fewer than two distinct batches.
[[nodiscard]] std::optional<MemoryFit> fit_memory(const std::vector<BatchPeak>& peaks);

}  // namespace pb::measure
