// The rows of maps that stay from one step of a band schedule to the next (Note [Carried rows]): of a ring in chunks,
// one a step, of other maps in one tensor.
#pragma once

#include "network/band_pieces.hpp"

#include <ATen/core/Tensor.h>

#include <vector>

namespace pb::engine::torch_engine {

class CarriedRows {
  public:
    /// `schedule` must outlive it. Fixed memory is allocated here.
    CarriedRows(const network::BandSchedule& schedule, const at::TensorOptions& options, network::RowMemory memory);

    [[nodiscard]] bool is_ring(size_t map) const { return is_ring_[map]; }
    /// In fixed memory rows are where the step says, whatever was done before: the host remembers nothing of a step,
    /// and a replayed one leaves no other trace than an enqueued one.
    [[nodiscard]] bool is_fixed() const { return memory_ == network::RowMemory::fixed; }
    /// Gives up all rows.
    void clear();

    /// Adds the rows of a ring that `step` made.
    void add_chunk(int64_t step, size_t map, at::Tensor made);
    /// Rows of a ring, the last of which `step` made, or an earlier one.
    [[nodiscard]] at::Tensor rows_of_ring(int64_t step, size_t map, const Range& rows) const;
    /// Gives up the chunks of which no row is kept after `step`.
    void drop_chunks(int64_t step, size_t map);

    /// Copies the last rows of a map that is no ring, for the next step.
    void keep(size_t map, const at::Tensor& rows);
    /// All rows of such a map in a step: those kept, which are given up, and `made`, undefined where there are none.
    [[nodiscard]] at::Tensor joined(int64_t step, size_t map, at::Tensor made);

  private:
    void make_stores(const at::TensorOptions& options);
    /// Undefined where there are none.
    [[nodiscard]] at::Tensor take_kept(int64_t step, size_t map);
    [[nodiscard]] size_t place_of(int64_t step) const { return static_cast<size_t>(step % places_); }
    [[nodiscard]] int64_t first_step_held(int64_t step) const;

    const network::BandSchedule& schedule_;
    network::RowMemory memory_;
    std::vector<bool> is_ring_;
    int64_t places_;
    std::vector<std::vector<at::Tensor>> chunks_;  // by operation and place; undefined where there is none
    std::vector<at::Tensor> kept_;                 // by operation: those kept, or fixed memory for them
};

}  // namespace pb::engine::torch_engine
