// The part of an output that is worth a look, where not every part is looked at.
#pragma once

#include "image/image.hpp"

#include <cstdint>
#include <optional>

namespace pb {

/// Samples that a network which went wrong may have left: in floats those that are not finite, in integers zeros, to
/// which conversion sends NaN.
[[nodiscard]] int64_t count_odd(const PixelView& samples);

/// NaN spreads: of the parts that came, the one with the most odd samples, unless few of its samples are.
class AnomalyTracker {
  public:
    /// `odd` of `count` samples of `part` are (count_odd), which are floats or not. True when it is the part now.
    bool add(const Rect& part, int64_t odd, int64_t count, bool floats);
    [[nodiscard]] const std::optional<Rect>& part() const { return part_; }

  private:
    int64_t most_ = 0;
    std::optional<Rect> part_;
};

}  // namespace pb
