// Steps of a band schedule that do the same at other rows, as torch keeps them (band_pieces.hpp): once captured, such a
// step can be replayed. Pure arithmetic.
//
// Note [Phases of steps]: between the first and the last steps of an image each step works on the rows of the step
// before, one band further down. Rings are what differs: the chunk of a step lies at place `step % places`, so that
// steps which are `places` apart, of one phase, find the same rows at the same places.
#pragma once

#include "network/parts/band_schedule.hpp"

#include <optional>

namespace pb::network {

/// Chunks of any ring, at most, that are in memory at a time; at least 1.
[[nodiscard]] int64_t places_of_chunks(const BandSchedule& schedule);

class BandPhases {
  public:
    explicit BandPhases(const BandSchedule& schedule);

    /// 0 to places - 1; none for a step that does something else than the steps in the middle of the image, or reads
    /// other chunks.
    [[nodiscard]] std::optional<int64_t> phase_of(int64_t step) const;
    [[nodiscard]] const Range& steps_with_phase() const { return steps_; }

  private:
    int64_t places_;
    Range steps_;
};

}  // namespace pb::network
