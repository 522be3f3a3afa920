// Where the rows of a slab lie in memory, with room for the border rows of its neighbours: all in one arena of a size
// that is known before anything runs.
#pragma once

#include "network/arena.hpp"
#include "network/exchanged_slab.hpp"

namespace pb::network {

struct ExchangedMemory {
    /// By operation, the rows that its memory has room for: at least those that the slab holds. Maps that share memory,
    /// because one overwrites the other, have the same rows.
    std::vector<Range> rows;
    std::vector<std::optional<size_t>> block_of;  // by operation; none: the caller's memory, or nothing is stored
    Arena arena;
};

/// Maps share memory as in a forward call on the whole image (plan_memory).
[[nodiscard]] ExchangedMemory plan_exchanged(const Graph& graph, const ExchangedSlab& slab);

}  // namespace pb::network
