// Carried rows of the picture of pipeline_scene.hpp, and a network that costs nothing: the picture itself.
#pragma once

#include "engine/memory.hpp"
#include "support/blend_denoiser.hpp"
#include "support/pipeline_scene.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

namespace pb::test {

/// A rank that owns the whole picture, in four bands.
class BandScene {
  public:
    explicit BandScene(const network::Graph& graph, network::ComputedUnit unit = network::ComputedUnit::pixel)
        : grid_(PipelineScene::kImage, {8, 0, 1, true}),
          schedule_(std::make_shared<const network::BandSchedule>(
              graph,
              network::BandShape{
                  .rows = {0, PipelineScene::kImage.h}, .band = 8, .image = PipelineScene::kImage, .unit = unit})) {}

    [[nodiscard]] const network::BandSchedule& schedule() const { return *schedule_; }
    [[nodiscard]] run::Work work() const {
        run::Work work;
        work.tile = [grid = &grid_](int64_t index) { return grid->tile(index); };
        work.window = grid_.window();
        work.windows = {0, grid_.num_windows()};
        work.window_rows = {0, PipelineScene::kImage.h};
        work.patches_in = [](Range run) { return run.size(); };
        work.bands = schedule_;
        work.image_rows = PipelineScene::kImage.h;
        return work;
    }

  private:
    plan::TileGrid grid_;
    std::shared_ptr<const network::BandSchedule> schedule_;
};

/// A pixel of a network's output that is infinite.
inline std::vector<std::byte> infinite_pixel(const PipelineCase& chosen) {
    std::vector<std::byte> pixel(static_cast<size_t>(chosen.channels) * size_of(chosen.options.values));
    for (int64_t c = 0; c < chosen.channels; ++c) blend_store(pixel.data(), chosen.options.values, c, HUGE_VALF);
    return pixel;
}

/// Keeps all rows that it was given, and gives those that a step makes. The last pixel of the first of them is
/// infinite.
class KeptRows final : public engine::BandPass {
  public:
    KeptRows(const network::BandSchedule& schedule, std::vector<std::byte> infinite, device::Stream& stream)
        : schedule_(schedule),
          infinite_(std::move(infinite)),
          row_bytes_(static_cast<size_t>(schedule.shape().image.w) * infinite_.size()),
          memory_(stream.device(), static_cast<size_t>(schedule.shape().image.h) * row_bytes_),
          stream_(stream) {}

    void run(int64_t step, const void* in, void* out) override {
        const Range taken = schedule_.made(step, 0), made = schedule_.made(step, schedule_.computed().size() - 1);
        if (taken.size() > 0) device::copy_on_device(row(taken.begin), in, bytes_of(taken), stream_);
        if (made.size() == 0) return;
        device::copy_on_device(out, row(made.begin), bytes_of(made), stream_);
        auto* const last_pixel = static_cast<std::byte*>(out) + row_bytes_ - infinite_.size();
        device::copy_to_device(last_pixel, infinite_.data(), infinite_.size(), stream_);
    }
    [[nodiscard]] int64_t replay_bytes() const override { return kReplayBytes; }

    static constexpr int64_t kReplayBytes = 11;

  private:
    [[nodiscard]] size_t bytes_of(const Range& rows) const { return static_cast<size_t>(rows.size()) * row_bytes_; }
    [[nodiscard]] std::byte* row(int64_t index) const {
        return static_cast<std::byte*>(memory_.pointer()) + static_cast<size_t>(index) * row_bytes_;
    }

    const network::BandSchedule& schedule_;
    std::vector<std::byte> infinite_;
    size_t row_bytes_;
    engine::EngineBuffer memory_;
    device::Stream& stream_;
};

class KeptRowsDenoiser final : public engine::Denoiser {
  public:
    explicit KeptRowsDenoiser(const PipelineCase& chosen) : infinite_(infinite_pixel(chosen)) {}
    void prepare(const BatchView&, const BatchView&, device::Stream&) override { ADD_FAILURE() << "windows"; }
    void forward(const BatchView&, const BatchView&, device::Stream&) override { ADD_FAILURE() << "windows"; }
    [[nodiscard]] std::unique_ptr<engine::BandPass> make_band_pass(const network::BandSchedule& schedule,
                                                                   device::Stream& stream) override {
        return std::make_unique<KeptRows>(schedule, infinite_, stream);
    }

  private:
    std::vector<std::byte> infinite_;
};

/// What a pass over all bands makes of it: the picture but for those pixels, which floats alone can hold.
inline Made made_of_kept_rows(PipelineScene& scene, const PipelineCase& chosen, int64_t band) {
    const run::Slab picture = scene.input();
    Made made{{picture.pixels.pixels, picture.pixels.pixels + picture.pixels.bytes()},
              std::vector<int64_t>(PipelineScene::kImage.pixels())};
    const auto [height, width] = PipelineScene::kImage;
    for (int64_t row = 0; row < height; row += band)
        for (int64_t c = 0; c < chosen.channels; ++c) {
            const size_t place = static_cast<size_t>(((row + 1) * width - 1) * chosen.channels + c);
            const size_t bytes = size_of(chosen.samples);
            if (is_float(chosen.samples))
                blend_store(made.pixels.data(), chosen.samples, static_cast<int64_t>(place), HUGE_VALF);
            else
                std::fill_n(made.pixels.begin() + static_cast<int64_t>(place * bytes), bytes, std::byte{0xFF});
            made.num_lost[row * width] += is_float(chosen.samples) ? 0 : 1;
        }
    return made;
}

}  // namespace pb::test
