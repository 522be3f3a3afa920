// Pieces of maps: Note [Pieces] in network/parts/pieces.hpp.
#include "engine/torch/network.hpp"

#include <ATen/ops/empty.h>

#include <utility>

namespace pb::engine::torch_engine {

namespace {

using network::Piece;

/// `wanted` of a map of which `map` is the piece `held`.
at::Tensor part_of(const at::Tensor& map, const Piece& held, const Piece& wanted) {
    if (held == wanted) return map;
    return map.slice(2, wanted.rows.begin - held.rows.begin, wanted.rows.end - held.rows.begin)
        .slice(3, wanted.columns.begin - held.columns.begin, wanted.columns.end - held.columns.begin);
}

Piece whole(const at::Tensor& map) { return {{0, map.size(2)}, {0, map.size(3)}}; }

at::Tensor with_zeros(const at::Tensor& x, const network::Zeros& rows, const network::Zeros& columns,
                      at::MemoryFormat format) {
    const int64_t h = x.size(2), w = x.size(3);
    at::Tensor y = at::empty({x.size(0), x.size(1), rows.before + h + rows.after, columns.before + w + columns.after},
                             x.options(), format);
    y.slice(2, 0, rows.before).zero_();
    y.slice(2, rows.before + h).zero_();
    y.slice(3, 0, columns.before).zero_();
    y.slice(3, columns.before + w).zero_();
    y.slice(2, rows.before, rows.before + h).slice(3, columns.before, columns.before + w).copy_(x);
    return y;
}

/// The share of a map's pixels that the step makes.
double part_made(const network::Graph& graph, const network::PieceStep& step, const at::Tensor& in) {
    const int64_t scale = graph.shape(step.step.last).scale;
    return static_cast<double>(step.made.pixels() * scale * scale) / static_cast<double>(whole(in).pixels());
}

}  // namespace

Network::Operands Network::operands_of(const network::PieceStep& step, const PieceMaps& pieces) const {
    Operands operands{.maps = {}, .overwritten = std::nullopt};
    for (size_t i = 0; i < step.maps.size(); ++i) {
        const size_t map = step.maps[i];
        if (step.overwritten == map && !operands.overwritten) operands.overwritten = i;
        operands.maps.push_back(part_of(pieces.maps[map], pieces.held[map], step.read[i]));
    }
    at::Tensor& first = operands.maps.front();
    if (step.adds_zeros())
        first = with_zeros(first, step.zeros_in_rows, step.zeros_in_columns, format_);
    else if (step.copies)
        first = first.contiguous(format_);
    return operands;
}

void Network::give_up(const network::PieceStep& step, PieceMaps& pieces, bool early) const {
    for (const size_t map : step.released)
        if (step.gives_up_early(map) == early) pieces.maps[map].reset();
    for (const auto& [map, piece] : step.kept) {
        if (step.gives_up_early(map) != early) continue;
        pieces.maps[map] = part_of(pieces.maps[map], pieces.held[map], piece).clone(format_);
        pieces.held[map] = piece;
    }
}

void Network::run_piece(size_t number, const network::PieceStep& step, PieceMaps& pieces, at::Tensor& out) const {
    const Call& call = calls_[number];
    std::optional<Layer> layer = call.layer;
    if (layer) {
        layer->padding = {step.zeros_in_rows.padding, step.zeros_in_columns.padding};
        layer->fusion.reset();  // its plans pad both axes alike, and are for few shapes
    }
    const size_t made = call.step.last;
    {
        const Operands operands = operands_of(step, pieces);
        give_up(step, pieces, true);
        if (made == graph_.output())
            write(call, operands, layer, out);
        else
            pieces.maps[made] = compute(call, operands, layer);
    }
    pieces.held[made] = step.made;
    give_up(step, pieces, false);
    if (step.widened) widen(made, *step.widened, pieces);
}

void Network::widen(size_t map, const Piece& piece, PieceMaps& pieces) const {
    const at::Tensor& there = pieces.maps[map];
    at::Tensor wide =
        at::empty({there.size(0), there.size(1), piece.rows.size(), piece.columns.size()}, there.options(), format_);
    part_of(wide, piece, pieces.held[map]).copy_(there);
    pieces.maps[map] = std::move(wide);
    pieces.held[map] = piece;
}

at::Tensor Network::rows_at(void* pointer, size_t operation, const Range& rows, int64_t width) const {
    const Piece piece = network::piece_of_rows(graph_, operation, rows, width);
    const int64_t channels = graph_.shape(operation).channels;
    return as_tensor({.pointer = pointer, .shape = {1, channels, rows.size(), piece.columns.size()}}, options_);
}

void Network::run_pieces(const std::vector<network::PieceStep>& steps, const at::Tensor& in, at::Tensor& out,
                         StepClock* clock) const {
    PieceMaps pieces(graph_.size());
    pieces.maps.front() = in;
    pieces.held.front() = whole(in);
    at::Tensor core = part_of(out, whole(out), steps.back().made);
    if (clock != nullptr) clock->start();
    for (size_t s = 0; s < steps.size(); ++s) {
        const network::PieceStep& step = steps[s];
        run_piece(s, step, pieces, core);
        if (clock != nullptr) clock->add(step.step, part_made(graph_, step, in));
    }
}

}  // namespace pb::engine::torch_engine
