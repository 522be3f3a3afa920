// The rows of maps that stay from one step of a band schedule to the next (Note [Carried rows]): of a ring in chunks,
// one a step, of other maps in one tensor.
#pragma once

#include "network/parts/band_pieces.hpp"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace pb::engine::torch_engine {

class CarriedRows {
  public:
    virtual ~CarriedRows() = default;

    [[nodiscard]] bool is_ring(size_t map) const { return is_ring_[map]; }
    /// Gives up all rows.
    virtual void clear() = 0;

    /// Adds the rows of a ring that `step` made.
    virtual void add_chunk(int64_t step, size_t map, at::Tensor made) = 0;
    /// Rows of a ring, the last of which `step` made, or an earlier one.
    [[nodiscard]] at::Tensor rows_of_ring(int64_t step, size_t map, const Range& rows) const;
    /// Gives up the chunks of which no row is kept after `step`.
    virtual void drop_chunks(int64_t step, size_t map) = 0;

    /// Copies the last rows, one at least, of a map that is no ring, for the next step.
    virtual void keep(size_t map, const at::Tensor& rows) = 0;
    /// All rows of such a map in a step: those kept, which are given up, and `made`, undefined where there are none.
    [[nodiscard]] virtual at::Tensor joined(int64_t step, size_t map, at::Tensor made) = 0;

  protected:
    /// `schedule` must outlive it.
    explicit CarriedRows(const network::BandSchedule& schedule);

    [[nodiscard]] const network::BandSchedule& schedule() const { return schedule_; }
    [[nodiscard]] int64_t places() const { return places_; }
    /// Where the chunk of a step is.
    [[nodiscard]] size_t place_of(int64_t step) const { return static_cast<size_t>(step % places_); }
    /// The first step whose chunks can be there after `step`.
    [[nodiscard]] int64_t first_held(int64_t step) const { return std::max<int64_t>(0, step - places_ + 1); }
    /// At its first row; it may be longer than what the step made.
    [[nodiscard]] virtual const at::Tensor& chunk_of(int64_t step, size_t map) const = 0;

  private:
    const network::BandSchedule& schedule_;
    std::vector<bool> is_ring_;
    int64_t places_;
};

/// Room for rows of a map; they hold anything.
[[nodiscard]] at::Tensor empty_rows(const network::BandSchedule& schedule, size_t map, int64_t rows,
                                    const at::TensorOptions& options);

/// In tensors of their own, as they were made.
[[nodiscard]] std::unique_ptr<CarriedRows> make_own_rows(const network::BandSchedule& schedule);

/// Copied into memory that is allocated here and stays where it is (Note [Phases of steps]). The host remembers nothing
/// of a step: one that is replayed leaves behind what an enqueued one does.
[[nodiscard]] std::unique_ptr<CarriedRows> make_fixed_rows(const network::BandSchedule& schedule,
                                                           const at::TensorOptions& options);

}  // namespace pb::engine::torch_engine
