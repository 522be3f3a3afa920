// What the ranks of a node make once and share: the transformed weights of the engine native.
#pragma once

#include "comm/communicator.hpp"
#include "plan/topology.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <memory>

namespace pb::run {

/// Blocks that the ranks of `world` on this node share. Null where this is the only rank, and where the ranks cannot
/// reach each other's memory: then each has its own. Collective.
[[nodiscard]] std::shared_ptr<engine::SharedBlocks> make_shared_blocks(const comm::Communicator& world,
                                                                       const plan::Topology& topology);

}  // namespace pb::run
