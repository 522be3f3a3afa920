#include "network/slab_pieces.hpp"

namespace pb::network {

std::vector<PieceStep> slab_steps(const Graph& graph, const ExchangedSlab& slab) {
    const MemoryPlan memory = plan_memory(graph, kOnednnPath);
    const std::vector<size_t> last_readers = last_readers_of(graph, memory.steps);
    const Extent image = slab.shape().image;
    std::vector<PieceStep> steps;
    steps.reserve(memory.steps.size());
    for (size_t s = 0; s < memory.steps.size(); ++s) {
        const Step& step = memory.steps[s];
        const Piece made = piece_of_rows(graph, step.last, slab.owned(step.last), image.w);
        PieceStep& piece = steps.emplace_back(piece_step(graph, step, made, image));
        piece.overwritten = map_overwritten(graph, memory, step);
        for (const size_t map : piece.maps)
            if (last_readers[map] == s) piece.released.push_back(map);
        if (slab.held(step.last) != slab.owned(step.last) && step.last != graph.output())
            piece.widened = piece_of_rows(graph, step.last, slab.held(step.last), image.w);
    }
    return steps;
}

}  // namespace pb::network
