// Analyses a sweep over batches. Times: the fastest batch, the smallest that is about as fast, and the form of T(b).
// Memory: peak = base + per_window * batch, and the largest batch. recommendation.hpp chooses a point. Pure.
#pragma once

#include "measure/study/batch_curve.hpp"
#include "plan/plan.hpp"
#include "plan/topology.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pb::measure {

enum class BetterForm : uint8_t { falling, rising, undecided };

struct BatchFit {
    std::optional<BatchCurve> left_arm;  // falling form, batches up to the fastest
    std::optional<BatchCurve> falling;   // both on all batches, so these two can be compared
    std::optional<BatchCurve> rising;
    BetterForm better = BetterForm::undecided;
    std::string comparison;        // which form fits better, and whether the data can decide
    int64_t fastest_batch = 1;     // the smallest measured time per window
    int64_t sufficient_batch = 1;  // the smallest batch within 3 % of the fastest
    std::string sufficient_words;  // how much slower it is, and what smaller ones lose
};

/// Throws Error when there are no times, and for times that `fit_batch_curve` refuses.
[[nodiscard]] BatchFit fit_batches(const std::vector<BatchTime>& times);

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
