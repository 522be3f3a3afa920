// Fits one curve to the times per window over the batch: T(b) = c / b^alpha + t_min, with or without a term d * b for
// the part where a larger batch costs more. The form without it is that of a published batch study; it is monotone and
// cannot rise again. Pure. The curve is not evaluated beyond the batches it was fitted to.
#pragma once

#include "base/statistics.hpp"
#include "plan/plan.hpp"
#include "plan/topology.hpp"

#include "patchbench/base/enum_names.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pb::measure {

struct BatchTime {
    int64_t batch = 1;
    double window_s = 0;  // seconds per window
};

/// rising adds the term d * b; falling has none.
enum class CurveForm : uint8_t { falling, rising };

constexpr auto enum_names(CurveForm) {
    return std::to_array<EnumName<CurveForm>>(
        {{CurveForm::falling, "c / b^alpha + t_min"}, {CurveForm::rising, "c / b^alpha + t_min + d b"}});
}

/// A parameter with its 95 % interval. There is no interval when the data cannot give one or the parameter lies at a
/// bound.
struct FittedNumber {
    std::string name;
    double value = 0;
    std::optional<Interval> interval;
};

struct CurvePoint {
    double batch = 1;
    double window_s = 0;
    std::optional<Interval> band;  // 95 % confidence band of the curve, not of a single measurement
};

struct BatchCurve {
    CurveForm form = CurveForm::falling;
    std::vector<FittedNumber> parameters;  // c, alpha, t_min[, d]; seconds, except alpha
    std::vector<BatchTime> fitted;         // the measured times
    std::vector<double> residuals;         // (measured - curve) / measured, in the order of `fitted`
    double rms_residual = 0;
    std::optional<double> aicc;    // Akaike's criterion for small samples; none with too few points
    std::vector<CurvePoint> line;  // from the smallest to the largest fitted batch
    std::vector<std::string> notes;
};

/// Minimises the squares of the relative residuals, because the noise of a timing grows with the time. All coefficients
/// are >= 0. Method: variable projection (Golub & Pereyra 1973): for a given alpha the rest is a linear problem, so
/// only alpha is searched, between 0.05 and 5. Returns nothing for fewer points than parameters + 1, or fewer distinct
/// batches than parameters. Throws Error for batches below 1 and times that are not positive.
[[nodiscard]] std::optional<BatchCurve> fit_batch_curve(CurveForm form, std::vector<BatchTime> times);

// Analyses a sweep over batches. Times: the fastest batch, the smallest that is about as fast, and the form of T(b).
// Memory: peak = base + per_window * batch, and the largest batch. recommendation.hpp chooses a point. Pure.

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

/// Returns the memory that the engine of one rank may use: memory_limit_mib, or its part of the smallest device that
/// takes part. Nothing on a CPU without a limit.
[[nodiscard]] std::optional<double> memory_limit_of(const plan::Point& point, const plan::Topology& topology);

/// Fits by least squares. Returns nothing for fewer than two distinct batches.
[[nodiscard]] std::optional<MemoryFit> fit_memory(const std::vector<BatchPeak>& peaks);

}  // namespace pb::measure
