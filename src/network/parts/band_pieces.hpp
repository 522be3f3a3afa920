// The rows of a band schedule in the engine torch, which has a tensor for each map instead of an arena: which maps are
// rings, and the memory that a pass takes. The engine (engine/torch/passes.hpp) does what is counted here.
#pragma once

#include "network/parts/band_schedule.hpp"
#include "network/parts/pieces.hpp"

#include <optional>

namespace pb::network {

/// The maps whose kept rows are more than a step makes, by operation: they are chunks, one a step, which are given up
/// one by one. Of other maps, the kept rows are copied together with the new ones, so that a step reads one tensor.
[[nodiscard]] std::vector<bool> rings_of(const BandSchedule& schedule);

/// Where the rows that stay from step to step lie.
enum class RowMemory : uint8_t {
    own,   // in tensors of their own, as they were made
    fixed  // copied into memory that stays where it is (Note [Phases of steps])
};

/// By operation, the rows for which there is room in fixed memory: in each chunk of a ring, or for what is kept.
[[nodiscard]] std::vector<int64_t> rows_stored(const BandSchedule& schedule);

/// The piece that `step` of the network makes in step `band` of the schedule.
[[nodiscard]] PieceStep band_piece(const BandSchedule& schedule, int64_t band, const Step& step);

/// Bytes at the peak of a pass, without input and output of a step.
[[nodiscard]] int64_t peak_of_bands(const BandSchedule& schedule, const MemoryPath& path,
                                    RowMemory memory = RowMemory::own);

// Steps that do the same at other rows: once captured, such a step can be replayed.
//
// Note [Phases of steps]: between the first and the last steps of an image each step works on the rows of the step
// before, one band further down. Rings are what differs: the chunk of a step lies at place `step % places`, so that
// steps which are `places` apart, of one phase, find the same rows at the same places.

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
