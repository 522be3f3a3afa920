// Fits one curve to the times per window over the batch: T(b) = c / b^alpha + t_min, with or without a term d * b for
// the part where a larger batch costs more. The form without it is that of a published batch study; it is monotone and
// cannot rise again. Pure. The curve is not evaluated beyond the batches it was fitted to.
#pragma once

#include "base/statistics.hpp"

#include "patchbench/base/enum_names.hpp"

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

}  // namespace pb::measure
