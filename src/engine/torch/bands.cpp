#include "engine/torch/bands.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

namespace pb::engine::torch_engine {

namespace {

/// All rows of `parts`, one above the other.
at::Tensor join_rows(const std::vector<at::Tensor>& parts) {
    const at::Tensor& first = parts.front();
    int64_t height = 0;
    for (const at::Tensor& part : parts) height += part.size(2);
    at::Tensor joined =
        at::empty({1, first.size(1), height, first.size(3)}, first.options(), at::MemoryFormat::ChannelsLast);
    int64_t row = 0;
    for (const at::Tensor& part : parts) {
        joined.slice(2, row, row + part.size(2)).copy_(part);
        row += part.size(2);
    }
    return joined;
}

/// `wanted` of a tensor whose rows are `held`.
at::Tensor rows_within(const at::Tensor& map, const Range& held, const Range& wanted) {
    return map.slice(2, wanted.begin - held.begin, wanted.end - held.begin);
}

}  // namespace

Bands::Bands(const Network& network, const network::BandSchedule& schedule, Runner runner)
    : network_(network.rearranged(schedule.graph(), schedule.origin_in(network.graph()))),
      schedule_(schedule),
      runner_(std::move(runner)),
      last_readers_(network::last_readers_of(network_.graph(), network_.memory().steps)),
      is_ring_(network::rings_of(schedule)),
      pieces_(network_.graph().size()),
      kept_(network_.graph().size()),
      is_kept_(network_.graph().size()),
      chunks_(network_.graph().size()) {}

void Bands::run(int64_t step, const void* in, void* out) {
    runner_([&] {
        if (step == 0 || step != next_) {
            kept_.assign(kept_.size(), {});
            chunks_.assign(chunks_.size(), {});
        }
        if (step != next_ && step > 0) pretend_before(step);
        next_ = step + 1;
        pieces_ = PieceMaps(kept_.size());
        is_kept_.assign(kept_.size(), false);
        const int64_t width = schedule_.shape().image.w;
        const Range taken = schedule_.made(step, 0);
        if (taken.size() > 0) pieces_.maps.front() = network_.rows_at(const_cast<void*>(in), 0, taken, width);
        store(step, 0);
        const size_t output = network_.graph().output();
        at::Tensor made = network_.rows_at(out, output, schedule_.made(step, output), width);
        run_layers(step, made);
    });
}

void Bands::pretend_before(int64_t step) {
    const network::Graph& graph = network_.graph();
    for (size_t map = 0; map < graph.size(); ++map) {
        const Range rows = schedule_.kept(step - 1, map);
        const network::Piece piece = network::piece_of_rows(graph, map, rows, schedule_.shape().image.w);
        if (rows.size() == 0) continue;
        at::Tensor zeros = at::empty({1, graph.shape(map).channels, rows.size(), piece.columns.size()},
                                     network_.options(), at::MemoryFormat::ChannelsLast);
        zeros.zero_();
        if (is_ring_[map])
            chunks_[map].push_back({rows, std::move(zeros)});
        else
            kept_[map] = std::move(zeros);
    }
}

void Bands::run_layers(int64_t step, at::Tensor& out) {
    const network::Graph& graph = network_.graph();
    const std::vector<network::Step>& layers = network_.memory().steps;
    for (size_t s = 0; s < layers.size(); ++s) {
        const size_t made = layers[s].last;
        if (schedule_.made(step, made).size() > 0) make(step, s, out);
        for (const size_t map : network::maps_read(graph, layers[s]))
            if (last_readers_[map] == s) retire(step, map);
        if (made != graph.output()) store(step, made);
        tell_layer(static_cast<int64_t>(s) + 1, std::ssize(layers));
    }
}

void Bands::make(int64_t step, size_t layer, at::Tensor& out) {
    const network::Graph& graph = network_.graph();
    const network::Step& of_network = network_.memory().steps[layer];
    network::PieceStep piece = network::band_piece(schedule_, step, of_network);
    for (size_t i = 0; i < piece.maps.size(); ++i) {
        const size_t map = piece.maps[i];
        if (!is_ring_[map]) continue;
        pieces_.maps[map] = rows_of_ring(map, piece.read[i].rows);
        pieces_.held[map] = piece.read[i];
    }
    const size_t first = piece.maps.front();
    if (piece.gives_up_early(first) && last_readers_[first] == layer && !is_ring_[first]) {
        keep(step, first);
        piece.released = {first};
    }
    const auto overwritten = network::map_overwritten(graph, network_.memory(), of_network);
    if (overwritten && !is_ring_[*overwritten]) {
        keep(step, *overwritten);  // before its rows are
        piece.overwritten = overwritten;
    }
    network_.run_piece(layer, piece, pieces_, out);
    for (const size_t map : piece.maps)
        if (is_ring_[map]) pieces_.maps[map].reset();
}

void Bands::store(int64_t step, size_t map) {
    const Range made = schedule_.made(step, map);
    at::Tensor& values = pieces_.maps[map];
    if (is_ring_[map]) {
        if (map == 0 && made.size() > 0) values = values.clone();  // the caller's
        if (made.size() > 0) chunks_[map].push_back({made, std::exchange(values, {})});
        return;
    }
    if (kept_[map].defined()) values = made.size() > 0 ? join_rows({kept_[map], values}) : kept_[map];
    kept_[map].reset();
    pieces_.held[map] =
        network::piece_of_rows(network_.graph(), map, schedule_.held(step, map), schedule_.shape().image.w);
}

void Bands::keep(int64_t step, size_t map) {
    is_kept_[map] = true;
    const Range kept = schedule_.kept(step, map);
    if (kept.size() > 0)
        kept_[map] = rows_within(pieces_.maps[map], pieces_.held[map].rows, kept).clone(at::MemoryFormat::ChannelsLast);
}

void Bands::retire(int64_t step, size_t map) {
    if (is_ring_[map]) {
        auto& chunks = chunks_[map];
        while (!chunks.empty() && chunks.front().rows.end <= schedule_.kept(step, map).begin) chunks.pop_front();
        return;
    }
    if (!is_kept_[map]) keep(step, map);
    pieces_.maps[map].reset();
}

at::Tensor Bands::rows_of_ring(size_t map, const Range& rows) const {
    std::vector<at::Tensor> parts;
    for (const Chunk& chunk : chunks_[map]) {
        const Range part{std::max(rows.begin, chunk.rows.begin), std::min(rows.end, chunk.rows.end)};
        if (part.size() > 0) parts.push_back(rows_within(chunk.values, chunk.rows, part));
    }
    return parts.size() == 1 ? parts.front() : join_rows(parts);
}

}  // namespace pb::engine::torch_engine
