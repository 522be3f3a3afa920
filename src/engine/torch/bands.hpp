// A band schedule with LibTorch, Note [Carried rows]: a tensor for each map, whose last rows stay for the next step.
// The network may have a late map (network/late_maps.hpp).
#pragma once

#include "engine/layer_report.hpp"
#include "engine/torch/network.hpp"
#include "network/band_pieces.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <deque>
#include <vector>

namespace pb::engine::torch_engine {

class Bands final : public BandPass, public LayerReport {
  public:
    /// `schedule` and what `runner` holds must outlive it. Throws Error for the schedule of another network.
    Bands(const Network& network, const network::BandSchedule& schedule, Runner runner);

    void run(int64_t step, const void* in, void* out) override;

  private:
    struct Chunk {
        Range rows;
        at::Tensor values;
    };

    /// As if the steps before had been run, on zeros: for timing.
    void pretend_before(int64_t step);
    void run_layers(int64_t step, at::Tensor& out);
    void make(int64_t step, size_t layer, at::Tensor& out);
    /// New rows of a map: adds them to those kept before.
    void store(int64_t step, size_t map);
    /// Copies the rows that later steps need.
    void keep(int64_t step, size_t map);
    /// Gives up the others, after their last reader.
    void retire(int64_t step, size_t map);
    [[nodiscard]] at::Tensor rows_of_ring(size_t map, const Range& rows) const;

    Network network_;  // of the schedule's graph
    const network::BandSchedule& schedule_;
    Runner runner_;
    std::vector<size_t> last_readers_;
    std::vector<bool> is_ring_;
    int64_t next_ = 0;                       // step
    PieceMaps pieces_;                       // of a step
    std::vector<at::Tensor> kept_;           // by operation
    std::vector<bool> is_kept_;              // in this step already
    std::vector<std::deque<Chunk>> chunks_;  // of rings
};

}  // namespace pb::engine::torch_engine
