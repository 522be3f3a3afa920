#include "network/exchanged_memory.hpp"

#include "network/receptive_field.hpp"

#include <algorithm>

namespace pb::network {

ExchangedMemory plan_exchanged(const Graph& graph, const ExchangedSlab& slab) {
    MemoryPlan plan = plan_memory(graph, kNativePath);
    std::vector<Range> rows_of_block(plan.blocks.size());
    for (size_t i = 0; i < graph.size(); ++i)
        if (plan.block_of[i]) include(rows_of_block[*plan.block_of[i]], slab.held(i));
    for (MemoryBlock& block : plan.blocks) block.size = {};
    ExchangedMemory memory;
    memory.rows.reserve(graph.size());
    for (size_t i = 0; i < graph.size(); ++i) {
        memory.rows.push_back(plan.block_of[i] ? rows_of_block[*plan.block_of[i]] : slab.held(i));
        if (!plan.block_of[i]) continue;
        int64_t& bytes = plan.blocks[*plan.block_of[i]].size.fixed_bytes;
        bytes = std::max(bytes, memory.rows.back().size() * slab.row_bytes(i));
    }
    memory.arena = place_blocks(plan, 0);
    memory.block_of = std::move(plan.block_of);
    return memory;
}

}  // namespace pb::network
