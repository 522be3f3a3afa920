// A band schedule with LibTorch, Note [Carried rows]: a tensor for each map, whose last rows stay for the next step.
// The network may have a late map (network/late_maps.hpp). Steps of one phase can be replayed, Note [Phases of steps].
#pragma once

#include "engine/layer_report.hpp"
#include "engine/torch/carried_rows.hpp"
#include "engine/torch/network.hpp"
#include "engine/torch/replays.hpp"
#include "network/band_phases.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace pb::engine::torch_engine {

class Bands final : public BandPass, public LayerReport {
  public:
    /// `schedule` and what `runner` holds must outlive it. Without `replays` every step is enqueued. Throws Error for
    /// the schedule of another network.
    Bands(const Network& network, const network::BandSchedule& schedule, Runner runner,
          std::unique_ptr<Replays> replays = nullptr);

    void run(int64_t step, const void* in, void* out) override;
    [[nodiscard]] int64_t replay_bytes() const override { return replays_ ? replays_->captured_bytes() : 0; }

  private:
    /// What a step does depends on the step and on the memory of the rows that stay, on nothing else.
    void run_step(int64_t step, const void* in, void* out);
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
    [[nodiscard]] at::Tensor zeros(size_t map, int64_t rows) const;

    Network network_;  // of the schedule's graph
    const network::BandSchedule& schedule_;
    Runner runner_;
    std::unique_ptr<Replays> replays_;
    std::optional<network::BandPhases> phases_;  // of steps that are replayed
    std::vector<size_t> last_readers_;
    int64_t next_ = 0;           // step
    PieceMaps pieces_;           // of a step
    std::vector<bool> is_kept_;  // in this step already
    std::unique_ptr<CarriedRows> carried_;
};

}  // namespace pb::engine::torch_engine
