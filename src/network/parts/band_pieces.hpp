// The rows of a band schedule in the engine torch, which has a tensor for each map instead of an arena: which maps are
// rings, and the memory that a pass takes. The engine (engine/torch/passes.hpp) does what is counted here.
#pragma once

#include "network/parts/band_schedule.hpp"
#include "network/parts/pieces.hpp"

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

}  // namespace pb::network
