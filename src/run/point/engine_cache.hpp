// The engines of points: kept for many small images, since to pack the weights again takes longer than such an image,
// and with weights that the ranks of a node pack once and share.
#pragma once

#include "comm/communicator.hpp"
#include "plan/topology.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <memory>
#include <vector>

namespace pb::run {

/// What the ranks of `world` on this node make once and share: the transformed weights of the engine native. Null where
/// this is the only rank, and where the ranks cannot reach each other's memory: then each has its own. Collective.
[[nodiscard]] std::shared_ptr<SharedBlocks> make_shared_blocks(const comm::Communicator& world,
                                                               const plan::Topology& topology);

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
