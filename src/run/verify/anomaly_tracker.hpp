// Finds the part of an output that most likely is wrong, when not every part is verified.
#pragma once

#include "image/image.hpp"

#include <cstdint>
#include <optional>

namespace pb::run {

/// Counts samples that a network with an error may have produced: in floats those that are not finite, in integers
/// zeros, because conversion maps NaN to 0.
[[nodiscard]] int64_t count_odd(const PixelView& samples);

/// Keeps the part with the most odd samples, because NaN spreads. A part of integers counts only if enough of its
/// samples are odd.
class AnomalyTracker {
  public:
    /// `odd` (from count_odd) of the `count` samples of `part` are odd. `floats` states whether the samples are floats.
    /// Returns true when this part is now the one that is kept.
    bool add(const Rect& part, int64_t odd, int64_t count, bool floats);
    [[nodiscard]] const std::optional<Rect>& part() const { return part_; }

  private:
    int64_t most_ = 0;
    std::optional<Rect> part_;
};

}  // namespace pb::run
