// Makes the engines of points. For many small images it keeps them: to pack the weights again takes longer than such an
// image.
#pragma once

#include "patchbench/engine/denoiser.hpp"

#include <memory>
#include <vector>

namespace pb::run {

class EngineCache {
  public:
    /// From now on keeps the last engines of the CPU. On a GPU, an engine holds what it prepared for the slots of its
    /// point, so each point has its own.
    void keep() { keeps_ = true; }
    /// Returns an engine for these weights and options. Throws as engine::make_denoiser does.
    [[nodiscard]] std::shared_ptr<engine::Denoiser> find(const std::shared_ptr<const engine::Weights>& weights,
                                                         const engine::EngineOptions& options);

  private:
    struct Kept {
        std::shared_ptr<const engine::Weights> weights;
        engine::EngineOptions options;
        std::shared_ptr<engine::Denoiser> engine;
    };

    bool keeps_ = false;
    std::vector<Kept> kept_;  // the oldest is first
};

}  // namespace pb::run
