// A picture for tests of the pipelines: its windows, of which the last column and row reach beyond it, and an output
// that notes how often each pixel was written and when.
#pragma once

#include "run/pipeline/pipeline.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/plan/tile_grid.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace pb::test {

/// What a pass may differ in.
struct PipelineCase {
    DType samples = DType::u8;
    int64_t channels = 3;
    run::PipelineOptions options;
    int64_t batch = 4;
    config::LastBatch last_batch = config::LastBatch::pad;
};

/// 15 windows of 16 x 16 with a halo of 4: batches of 4 and 7 leave a tail.
class PipelineScene {
  public:
    static constexpr Extent kImage{27, 42};

    explicit PipelineScene(const PipelineCase& chosen) : case_(chosen), grid_(kImage, {8, 4, 4}) {
        samples_.resize(slab_of(nullptr).pixels.bytes());
        std::mt19937 random(7);
        std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
        for (size_t i = 0; i < samples_.size() / size_of(chosen.samples); ++i) {
            const float value = uniform(random);
            const auto word = static_cast<uint16_t>(random());
            std::memcpy(samples_.data() + i * size_of(chosen.samples),
                        chosen.samples == DType::f32 ? static_cast<const void*>(&value) : &word,
                        size_of(chosen.samples));
        }
    }

    [[nodiscard]] run::Work work() const { return work_of({0, grid_.num_windows()}); }
    [[nodiscard]] run::Work work_of(Range windows) const {
        run::Work work;
        work.tile = [grid = &grid_](int64_t index) { return grid->tile(index); };
        work.window = grid_.window();
        work.windows = windows;
        work.window_rows = {0, kImage.h};
        work.patches_in = [](Range run) { return run.size(); };
        work.batch = case_.batch;
        work.last_batch = case_.last_batch;
        return work;
    }
    [[nodiscard]] run::Slab slab_of(std::byte* pixels) const {
        return {dense_view(pixels, kImage, case_.channels, case_.samples), kImage};
    }
    /// The picture itself.
    [[nodiscard]] run::Slab input() { return slab_of(samples_.data()); }

  private:
    PipelineCase case_;
    plan::TileGrid grid_;
    std::vector<std::byte> samples_;
};

/// The picture's windows; `before_each` is called first.
class SceneWindows final : public run::WindowSource {
  public:
    explicit SceneWindows(PipelineScene& scene, std::function<void()> before_each = {})
        : slab_(scene.input()), before_each_(std::move(before_each)) {}
    [[nodiscard]] run::Slab read(const Rect&) override {
        if (before_each_) before_each_();
        return slab_;
    }
    [[nodiscard]] bool is_in_memory() const override { return !before_each_; }

  private:
    run::Slab slab_;
    std::function<void()> before_each_;
};

/// What a pass has made.
struct Made {
    std::vector<std::byte> pixels;
    std::vector<int64_t> num_lost;  // by the first pixel of a core

    [[nodiscard]] int64_t all_lost() const { return std::accumulate(num_lost.begin(), num_lost.end(), int64_t{0}); }
    friend bool operator==(const Made&, const Made&) = default;
};

/// Keeps the pixels and the numbers of lost values; `at_each` is called with each core that was written.
class SceneSink final : public run::CoreSink {
  public:
    explicit SceneSink(const PipelineScene& scene, std::function<void(const Rect&)> at_each = {})
        : slab_(scene.slab_of(nullptr)),
          made_{std::vector<std::byte>(slab_.pixels.bytes()), std::vector<int64_t>(PipelineScene::kImage.pixels())},
          times_written_(PipelineScene::kImage.pixels()),
          at_each_(std::move(at_each)) {
        slab_.pixels.pixels = made_.pixels.data();
    }
    [[nodiscard]] Extent extent() const override { return slab_.image; }
    [[nodiscard]] DType dtype() const override { return slab_.pixels.dtype; }
    [[nodiscard]] run::Slab map(const Rect&) override { return slab_; }
    void count_lost(const Rect& core, int64_t values) override {
        made_.num_lost[core.row * slab_.image.w + core.column] += values;
    }
    void commit(const Rect& core) override {
        for (int64_t y = core.row; y < core.row + core.extent.h; ++y)
            for (int64_t x = core.column; x < core.column + core.extent.w; ++x) ++times_written_[y * slab_.image.w + x];
        if (at_each_) at_each_(core);
    }
    [[nodiscard]] bool is_in_memory() const override { return !at_each_; }
    [[nodiscard]] image::Image read(const Rect&) override { throw Error("no test reads this output as an image"); }

    [[nodiscard]] const Made& made() const { return made_; }
    /// By pixel.
    [[nodiscard]] const std::vector<int>& times_written() const { return times_written_; }
    [[nodiscard]] bool every_pixel_was_written_once() const {
        return std::ranges::all_of(times_written_, [](int times) { return times == 1; });
    }

  private:
    run::Slab slab_;
    Made made_;
    std::vector<int> times_written_;
    std::function<void(const Rect&)> at_each_;
};

/// What a pass makes, each pixel written once. `pipeline` and `batches`: over all work of the scene.
inline Made made_by_pass(PipelineScene& scene, run::Pipeline& pipeline, run::BatchQueue& batches, run::PassLog& log) {
    SceneWindows windows(scene);
    SceneSink output(scene);
    batches.begin_pass();
    pipeline.pass(batches, windows, output, log);
    require(output.every_pixel_was_written_once(), "a pass writes each pixel once");
    return output.made();
}

/// What the host pipeline makes of it on the CPU.
inline Made made_by_host(PipelineCase chosen, engine::Denoiser& denoiser) {
    chosen.options.device = {};
    PipelineScene scene(chosen);
    const run::Work work = scene.work();
    const auto pipeline = run::make_host_pipeline(denoiser, work, chosen.options, chosen.channels, chosen.samples);
    run::BatchQueue batches(work.batches());
    run::PassLog log;
    return made_by_pass(scene, *pipeline, batches, log);
}

}  // namespace pb::test
