// Finds where an output differs most from the expected output.
#pragma once

#include "image/image.hpp"
#include "run/pixels/core_sink.hpp"

#include <cstdint>
#include <optional>

namespace pb::run {

/// The largest differences that are accepted.
struct Tolerance {
    double largest = 0;
    double rms = 0;  // root mean square over a window: detects small errors everywhere
};

/// Differences by ErrorScale. NaN: not finite.
struct Difference {
    double largest = 0;
    double rms = 0;
    int64_t row = 0, column = 0, channel = 0;  // position of the largest difference, in image coordinates

    /// The factor by which the difference exceeds the tolerance; infinite for NaN.
    [[nodiscard]] double excess(const Tolerance& tolerance) const;
};

/// Clips `expected` to the range that an output can hold (Quantisation), and makes what is not finite NaN, so that it
/// equals nothing. Without limits it is unchanged.
void clip(image::Image& expected, const std::optional<image::SampleRange>& limits);

/// What differences are divided by. A network that makes large values makes large rounding errors, also where its
/// output is then clipped: the divisor is the largest finite magnitude before that, at least 1. But values that bytes
/// cannot hold must not hide what is wrong beside them: of integers it allows one more rounding of what is stored, at
/// most.
class ErrorScale {
  public:
    /// `expected`: not yet clipped. `tolerance`: of the largest difference, with the rounding of what is stored.
    ErrorScale(const image::Image& expected, const Quantisation& stored, double tolerance);
    /// Returns an absolute difference with what exceeds the rounding of what is stored divided. NaN remains NaN.
    [[nodiscard]] double of(double difference) const;

  private:
    double divisor_, rounding_;
};

/// Returns the difference between `part` of the output and `expected` (f32, the extent of `part`), largest over all
/// samples and channels.
[[nodiscard]] Difference find_difference(CoreSink& output, const Rect& part, image::Image expected,
                                         const Tolerance& tolerance);

}  // namespace pb::run
