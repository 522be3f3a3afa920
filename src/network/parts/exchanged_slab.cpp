#include "network/parts/exchanged_slab.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <set>

namespace pb::network {

namespace {

std::vector<Range> rows_of_maps(const Graph& graph, const Range& rows) {
    std::vector<Range> all;
    all.reserve(graph.size());
    for (size_t i = 0; i < graph.size(); ++i) {
        const int64_t scale = graph.shape(i).scale;
        all.push_back({rows.begin / scale, rows.end / scale});
    }
    return all;
}

/// The rows of each map that steps read to make `rows` of their own, and those rows themselves. A stride of 2 reads
/// beside them on one side only: a row of the other one travels, too, because an empty message says that a rank has
/// failed.
std::vector<Range> rows_needed(const Graph& graph, const SlabShape& shape, const Range& rows) {
    const std::vector<Range> made = rows_of_maps(graph, rows);
    std::vector<Range> needed = made;
    if (rows.size() == 0) return needed;
    for (const Step& step : steps_of(graph, fusing_of(shape.unit))) {
        Range read = pixels_read(graph[step.first], made[step.last]);
        for (const size_t operand : operands_of(graph, step)) {
            const Range& owned = made[operand];
            if (read.begin < owned.begin || read.end > owned.end) include(read, {owned.begin - 1, owned.end + 1});
            const int64_t length = shape.image.h / graph.shape(operand).scale;
            include(needed[operand], {std::max<int64_t>(0, read.begin), std::min(read.end, length)});
        }
    }
    return needed;
}

/// Whether the step reads rows beside those that it makes.
bool reads_beside(const Graph& graph, const Step& step) {
    const std::vector<Range> rows = rows_of_maps(graph, {0, slab_unit(graph)});
    const Range read = pixels_read(graph[step.first], rows[step.last]);
    const Range& owned = rows[graph[step.first].operands.front()];
    return read.begin < owned.begin || read.end > owned.end;
}

}  // namespace

int64_t slab_unit(const Graph& graph) {
    int64_t unit = alignment_of(graph);  // scales and tiles are powers of two: the largest is a multiple of all others
    for (const size_t i : convolutions_of(graph))
        if (uses_winograd(graph, i)) unit = std::max(unit, kWinogradTile * graph.shape(i).scale);
    return unit;
}

std::vector<size_t> travelling_maps(const Graph& graph, ComputedUnit unit) {
    std::set<size_t> maps;  // operations are in the order in which their maps are made
    for (const Step& step : steps_of(graph, fusing_of(unit)))
        if (reads_beside(graph, step))
            for (const size_t operand : operands_of(graph, step))
                if (operand != 0) maps.insert(operand);
    return {maps.begin(), maps.end()};
}

ExchangedSlab::ExchangedSlab(const Graph& graph, const SlabShape& shape)
    : shape_(shape),
      travelling_(travelling_maps(graph, shape.unit)),
      owned_(rows_of_maps(graph, shape.rows)),
      held_(rows_needed(graph, shape, shape.rows)),
      held_above_(rows_needed(graph, shape, shape.above)),
      held_below_(rows_needed(graph, shape, shape.below)) {
    check_shape(graph);
    row_bytes_.reserve(graph.size());
    for (size_t i = 0; i < graph.size(); ++i) {
        const MapShape& map = graph.shape(i);
        row_bytes_.push_back(shape.image.w / map.scale * map.channels * shape.value_bytes);
    }
}

void ExchangedSlab::check_shape(const Graph& graph) const {
    const auto& [rows, above, below, image, value_bytes, computed_unit] = shape_;
    const int64_t unit = slab_unit(graph);
    const bool joins = (has_neighbour(Side::above) ? above.end : 0) == rows.begin &&
                       (has_neighbour(Side::below) ? below.begin : image.h) == rows.end;
    const bool on_tiles = rows.begin % unit == 0 && (rows.end % unit == 0 || rows.end == image.h) &&
                          above.begin % unit == 0 && (below.end % unit == 0 || below.end == image.h);
    require(rows.size() > 0 && joins && on_tiles,
            fmt::format("a slab of rows {} to {}: slabs lie side by side and begin on multiples of {}", rows.begin,
                        rows.end, unit));
    const std::vector<Range> owned_above = rows_of_maps(graph, above), owned_below = rows_of_maps(graph, below);
    for (const size_t map : travelling_) {
        const bool above_has = !has_neighbour(Side::above) || held_[map].begin >= owned_above[map].begin;
        const bool below_has = !has_neighbour(Side::below) || held_[map].end <= owned_below[map].end;
        require(above_has && below_has, "a slab is thinner than the rows that a layer of its neighbour needs");
    }
}

bool ExchangedSlab::has_neighbour(Side side) const {
    return (side == Side::above ? shape_.above : shape_.below).size() > 0;
}

Range ExchangedSlab::received(size_t operation, Side from) const {
    if (!has_neighbour(from)) return {};
    return from == Side::above ? Range{held_[operation].begin, owned_[operation].begin}
                               : Range{owned_[operation].end, held_[operation].end};
}

Range ExchangedSlab::sent(size_t operation, Side to) const {
    if (!has_neighbour(to)) return {};
    return to == Side::above ? Range{owned_[operation].begin, held_above_[operation].end}
                             : Range{held_below_[operation].begin, owned_[operation].end};
}

SlabTraffic ExchangedSlab::traffic() const {
    SlabTraffic traffic;
    for (const size_t map : travelling_)
        for (const Side side : kSides) {
            const int64_t bytes = sent(map, side).size() * row_bytes_[map];
            traffic.messages += bytes > 0 ? 1 : 0;
            traffic.bytes += bytes;
            traffic.largest = std::max(traffic.largest, bytes);
        }
    return traffic;
}

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
