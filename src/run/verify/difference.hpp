// Finds where an output differs most from the expected output.
#pragma once

#include "image/image.hpp"
#include "run/pixels/core_sink.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace pb::run {

/// The largest differences that are accepted. Note [Little to change]: in a low precision `rms` may be more than what
/// the network changes its input by where there is little noise. An engine that returns its input, or does little to
/// it, would pass. So the root mean square must be at most half of that of the change, and half of the change must be
/// in the output. Parts of few samples are not judged so: by chance their rounding is large, or lies along the change.
struct Tolerance {
    double largest = 0;
    double rms = 0;            // root mean square over a window: detects small errors everywhere
    double least_rms = 0;      // accepted however little the network changes: rounding makes it
    double least_missing = 0;  // the same of what is missing of the change

    /// What is accepted where the network changes its input by `change`, a root mean square.
    [[nodiscard]] double rms_where(double change) const;
    [[nodiscard]] double missing_where(double change) const;
};

/// What a part of the output is compared with: f32 images of its extent.
struct Expected {
    Rect part;  // in image coordinates
    image::Image denoised;
    std::function<image::Image()>
        read_noisy;  // the input of the network; called where the tolerance goes by the change
};

/// What a network changes its input by, and how much of it the output lacks: all where it is the input. Below 0: it has
/// more. Root mean squares.
struct Change {
    double rms = 0;
    double missing = 0;
};

/// Differences by ErrorScale. NaN: not finite.
struct Difference {
    double largest = 0;
    double rms = 0;
    std::optional<Change> change;              // where the part is judged by it
    int64_t row = 0, column = 0, channel = 0;  // position of the largest difference, in image coordinates

    /// The factor by which the difference exceeds the tolerance; infinite for NaN.
    [[nodiscard]] double excess(const Tolerance& tolerance) const;
};

/// "by 0.03, rms 0.009 (tolerance 0.1, rms 0.012)"; where it is judged by the change also "where the network changes
/// rms 0.01, of which 0.008 is missing (tolerance 0.005)".
[[nodiscard]] std::string to_text(const Difference& difference, const Tolerance& tolerance);

/// Clips `expected` to the range that an output can hold (Quantisation), and makes what is not finite NaN, so that it
/// equals nothing. Without limits it is unchanged.
void clip(image::Image& expected, const std::optional<image::SampleRange>& limits);

/// Moves the samples of `written` towards those of `expected` by what the type of a file may add to the rounding of
/// these (SampleMap::added_rounding), so that all may then differ by `stored.rounding`. `expected`: clipped.
void allow_added_rounding(image::Image& written, const image::Image& expected, const Quantisation& stored);

/// What differences are divided by. A network that makes large values makes large rounding errors, also where its
/// output is then clipped: the divisor is the largest finite magnitude before that, at least 1. But values that bytes
/// cannot hold must not hide what is wrong beside them: of integers it allows one more rounding of what is stored, or
/// twice the tolerance without it, at most.
class ErrorScale {
  public:
    /// `expected`: not yet clipped. `tolerance`: of the largest difference, with the rounding of what is stored.
    ErrorScale(const image::Image& expected, const Quantisation& stored, double tolerance);
    /// Returns an absolute difference with what exceeds the rounding of what is stored divided. NaN remains NaN.
    [[nodiscard]] double of(double difference) const;

  private:
    double divisor_, rounding_;
};

/// Returns the difference between a part of the output and what is expected there, largest over all samples and
/// channels.
[[nodiscard]] Difference find_difference(CoreSink& output, Expected expected, const Tolerance& tolerance);

}  // namespace pb::run
