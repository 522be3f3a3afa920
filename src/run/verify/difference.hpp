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

/// Absolute differences, less the rounding of what is stored, divided by the largest expected value if that is above 1,
/// plus that rounding (scaled_error). NaN: not finite.
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

/// The divisor of differences: the largest finite magnitude in `expected`, before it is clipped, at least 1. A network
/// that makes large values makes large rounding errors, also where its output is then clipped.
[[nodiscard]] double scale_of(const image::Image& expected);

/// A difference of stored values: what exceeds `rounding` is divided by `scale`, because storing rounds no more for
/// large values. NaN stays.
[[nodiscard]] double scaled_error(double difference, double scale, double rounding);

/// Returns the difference between `part` of the output and `expected` (f32, the extent of `part`), largest over all
/// samples and channels.
[[nodiscard]] Difference find_difference(CoreSink& output, const Rect& part, image::Image expected);

}  // namespace pb::run
