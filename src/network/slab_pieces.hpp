// The steps of a slab of exchanged rows (exchanged_slab.hpp) in the engine torch, which has a tensor for each map
// instead of an arena. The engine (engine/torch/slab.hpp) goes through them, and peak_of_pieces() adds up the memory
// they take.
#pragma once

#include "network/exchanged_slab.hpp"
#include "network/pieces.hpp"

namespace pb::network {

/// Each step makes the rows that the slab owns; the result of a step whose rows travel is copied into a map with room
/// for border rows.
[[nodiscard]] std::vector<PieceStep> slab_steps(const Graph& graph, const ExchangedSlab& slab);

}  // namespace pb::network
