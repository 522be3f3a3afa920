// The passes of a network with LibTorch: over row bands, over a slab of rows, and over windows of which only the cores
// are used.
#pragma once

#include "engine/torch/carried_rows.hpp"
#include "engine/torch/cuda_backend.hpp"
#include "engine/torch/network.hpp"
#include "engine/windows.hpp"
#include "network/parts/band_pieces.hpp"
#include "network/parts/exchanged_slab.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace pb::engine::torch_engine {

/// A band schedule with LibTorch, Note [Carried rows]: a tensor for each map, whose last rows stay for the next step.
/// The network may have a late map (network/parts/band_schedule.hpp). Steps of one phase can be replayed, Note [Phases
/// of steps].
class Bands final : public BandPass {
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

/// A slab of an image with LibTorch, Note [Exchanged rows]: a tensor for each map, with room for the border rows of the
/// neighbours where they are read. The border rows of a map are sent when all of its rows are made; the next step that
/// reads them waits for those of the neighbours.
class Slab final : public TravellingSlabPass {
  public:
    /// `network`, `slab` and what `runner` holds must outlive it.
    Slab(const Network& network, const network::ExchangedSlab& slab, Runner runner);

    void run(const void* in, void* out, RowExchange* exchange) override;

  private:
    void run_step(size_t step, at::Tensor& out);
    [[nodiscard]] std::span<std::byte> bytes_of(size_t map, const Range& rows) const override;

    const Network& network_;
    Runner runner_;
    std::vector<network::PieceStep> steps_;
    PieceMaps pieces_;  // of the last pass: rows may still be on the way when it fails
};

/// Maps are allocated in each call, as those of whole windows.
class Cropped final : public AlikeCropPass {
  public:
    /// `network`, `crop` and what `runner` holds must outlive it.
    Cropped(const Network& network, const network::WindowCrop& crop, int64_t n, const ExpectedViews& expected,
            Runner runner);

  private:
    struct Kind {
        Rect core;
        std::vector<network::PieceStep> steps;
    };

    void run_alike(const BatchView& in, const BatchView& out, const Rect& core, StepClock* clock) override;
    /// Makes the steps of each core once: an image has few different ones.
    const std::vector<network::PieceStep>& steps_for(const Rect& core);

    const Network& network_;
    Runner runner_;
    std::vector<Kind> kinds_;
};

}  // namespace pb::engine::torch_engine
