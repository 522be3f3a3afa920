// Peak memory over the batch: peak = base + per_window * batch, and the largest batch that follows from it. Pure.
#pragma once

#include "plan/plan.hpp"
#include "plan/topology.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace pb {

struct BatchPeak {
    int64_t batch = 1;
    double peak_mib = 0;
};

struct MemoryFit {
    double base_mib = 0;
    double per_window_mib = 0;
    double largest_deviation = 0;         // |measured - fit| / measured
    int64_t largest_deviation_batch = 1;  // where

    /// Nothing when the fit does not grow with the batch; 0 when not even one window would fit.
    [[nodiscard]] std::optional<int64_t> largest_batch(double limit_mib) const;
};

/// The engine's memory that a rank of the point may have: its memory_limit_mib, or that of the smallest device that
/// takes part. None on a CPU without a limit.
[[nodiscard]] std::optional<double> memory_limit_of(const Point& point, const Topology& topology);

/// Least squares. Nothing for fewer than two distinct batches.
[[nodiscard]] std::optional<MemoryFit> fit_memory(const std::vector<BatchPeak>& peaks);

}  // namespace pb
