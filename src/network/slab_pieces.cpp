#include "network/slab_pieces.hpp"

namespace pb::network {

std::vector<PieceStep> slab_steps(const Graph& graph, const ExchangedSlab& slab) {
    const MemoryPlan memory = plan_memory(graph, kOnednnPath);
    const std::vector<size_t> last_readers = last_readers_of(graph, memory.steps);
    std::vector<PieceStep> steps;
    steps.reserve(memory.steps.size());
    for (size_t s = 0; s < memory.steps.size(); ++s) {
        const Step& step = memory.steps[s];
        const Piece made = piece_of_rows(graph, slab, step.last, slab.owned(step.last));
        PieceStep& piece = steps.emplace_back(piece_step(graph, step, made, slab.shape().image));
        piece.overwritten = map_overwritten(graph, memory, step);
        for (const size_t map : piece.maps)
            if (last_readers[map] == s) piece.released.push_back(map);
        if (slab.held(step.last) != slab.owned(step.last) && step.last != graph.output())
            piece.widened = piece_of_rows(graph, slab, step.last, slab.held(step.last));
    }
    return steps;
}

Piece piece_of_rows(const Graph& graph, const ExchangedSlab& slab, size_t operation, const Range& rows) {
    return {rows, {0, slab.shape().image.w / graph.shape(operation).scale}};
}

}  // namespace pb::network
