// Where an output differs most from what was expected of it.
#pragma once

#include "image/image.hpp"
#include "run/pixels/core_sink.hpp"

#include <cstdint>
#include <optional>

namespace pb {

/// What a comparison may differ by, as Difference does.
struct Tolerance {
    double largest = 0;
    double rms = 0;  // of all samples of a window: finds what is wrong by little everywhere
};

/// Absolute differences, relative to the largest expected value where that is above 1. NaN: not finite.
struct Difference {
    double largest = 0;
    double rms = 0;
    int64_t row = 0, column = 0, channel = 0;  // where it is largest, in image coordinates

    /// By what factor it is beyond; infinite where it is NaN.
    [[nodiscard]] double excess(const Tolerance& tolerance) const;
};

/// `expected` clipped to what an output can hold (Quantisation); none: everything.
void clip(Image& expected, const std::optional<SampleRange>& limits);

/// What differences are relative to: the largest magnitude in `expected`, at least 1.
[[nodiscard]] double scale_of(const Image& expected);

/// Between `part` of the output and `expected` (f32, the extent of `part`), largest of all samples of all channels.
[[nodiscard]] Difference find_difference(CoreSink& output, const Rect& part, Image expected);

}  // namespace pb
