// Student's t distribution, for means of few launches. Not for single repetitions, whose times are not normal.
#pragma once

namespace pb {

/// Probability of -t < T < t, by the finite series for whole degrees of freedom (Abramowitz & Stegun, 26.7.3 and
/// 26.7.4). Throws Error for fewer than one degree.
[[nodiscard]] double student_t_within(double t, int degrees);

/// The t with student_t_within(t, degrees) == confidence, which lies in (0, 1).
[[nodiscard]] double student_t_quantile(double confidence, int degrees);

}  // namespace pb
