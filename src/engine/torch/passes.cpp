#include "engine/torch/passes.hpp"

#include <algorithm>
#include <utility>

namespace pb::engine::torch_engine {

namespace {

/// `wanted` of a tensor whose rows are `held`.
at::Tensor rows_within(const at::Tensor& map, const Range& held, const Range& wanted) {
    return map.slice(2, wanted.begin - held.begin, wanted.end - held.begin);
}

}  // namespace

Bands::Bands(const Network& network, const network::BandSchedule& schedule, Runner runner,
             std::unique_ptr<Replays> replays)
    : network_(network.rearranged(schedule.graph(), schedule.origin_in(network.graph()))),
      schedule_(schedule),
      runner_(std::move(runner)),
      replays_(std::move(replays)),
      last_readers_(network::last_readers_of(network_.graph(), network_.memory().steps)),
      pieces_(network_.graph().size()),
      is_kept_(network_.graph().size()) {
    if (replays_) phases_.emplace(schedule);
    runner_([&] { carried_ = replays_ ? make_fixed_rows(schedule, network_.options()) : make_own_rows(schedule); });
}

void Bands::run(int64_t step, const void* in, void* out) {
    runner_([&] {
        if (step == 0 || step != next_) carried_->clear();
        if (step != next_ && step > 0 && !replays_) pretend_before(step);
        next_ = step + 1;
        const auto phase = phases_ ? phases_->phase_of(step) : std::nullopt;
        if (!phase) return run_step(step, in, out);
        replays_->run({in, out, *phase}, [this, step, in, out] { run_step(step, in, out); });
        const int64_t layers = std::ssize(network_.memory().steps);
        tell_layer(layers, layers);
    });
}

void Bands::run_step(int64_t step, const void* in, void* out) {
    pieces_ = PieceMaps(network_.graph().size());
    is_kept_.assign(is_kept_.size(), false);
    const int64_t width = schedule_.shape().image.w;
    const Range taken = schedule_.made(step, 0);
    if (taken.size() > 0) pieces_.maps.front() = network_.rows_at(const_cast<void*>(in), 0, taken, width);
    store(step, 0);
    const size_t output = network_.graph().output();
    at::Tensor made = network_.rows_at(out, output, schedule_.made(step, output), width);
    run_layers(step, made);
}

void Bands::pretend_before(int64_t step) {
    for (size_t map = 0; map < network_.graph().size(); ++map) {
        const Range kept = schedule_.kept(step - 1, map);
        if (kept.size() == 0) continue;
        if (!carried_->is_ring(map)) {
            carried_->keep(map, zeros(map, kept.size()));
            continue;
        }
        for (int64_t maker = step - 1; maker >= 0 && schedule_.made(maker, map).end > kept.begin; --maker)
            carried_->add_chunk(maker, map, zeros(map, schedule_.made(maker, map).size()));
    }
}

at::Tensor Bands::zeros(size_t map, int64_t rows) const {
    return empty_rows(schedule_, map, rows, network_.options()).zero_();
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
        if (!carried_->is_ring(map)) continue;
        pieces_.maps[map] = carried_->rows_of_ring(step, map, piece.read[i].rows);
        pieces_.held[map] = piece.read[i];
    }
    const size_t first = piece.maps.front();
    if (piece.gives_up_early(first) && last_readers_[first] == layer && !carried_->is_ring(first)) {
        keep(step, first);
        piece.released = {first};
    }
    const auto overwritten = network::map_overwritten(graph, network_.memory(), of_network);
    if (overwritten && !carried_->is_ring(*overwritten)) {
        keep(step, *overwritten);  // before its rows are
        piece.overwritten = overwritten;
    }
    network_.run_piece(layer, piece, pieces_, out);
    for (const size_t map : piece.maps)
        if (carried_->is_ring(map)) pieces_.maps[map].reset();
}

void Bands::store(int64_t step, size_t map) {
    at::Tensor& values = pieces_.maps[map];
    if (carried_->is_ring(map)) {
        if (values.defined()) carried_->add_chunk(step, map, std::exchange(values, {}));
        return;
    }
    values = carried_->joined(step, map, std::move(values));
    pieces_.held[map] =
        network::piece_of_rows(network_.graph(), map, schedule_.held(step, map), schedule_.shape().image.w);
}

void Bands::keep(int64_t step, size_t map) {
    is_kept_[map] = true;
    const Range kept = schedule_.kept(step, map);
    if (kept.size() > 0) carried_->keep(map, rows_within(pieces_.maps[map], pieces_.held[map].rows, kept));
}

void Bands::retire(int64_t step, size_t map) {
    if (carried_->is_ring(map)) return carried_->drop_chunks(step, map);
    if (!is_kept_[map]) keep(step, map);
    pieces_.maps[map].reset();
}

Slab::Slab(const Network& network, const network::ExchangedSlab& slab, Runner runner)
    : TravellingSlabPass(slab),
      network_(network),
      runner_(std::move(runner)),
      steps_(network::slab_steps(network.graph(), slab)),
      pieces_(network.graph().size()) {}

void Slab::run(const void* in, void* out, RowExchange* exchange) {
    const size_t output = network_.graph().output();
    const int64_t width = slab().shape().image.w;
    begin_pass(exchange);
    runner_([&] {
        pieces_ = PieceMaps(network_.graph().size());
        pieces_.maps.front() = network_.rows_at(const_cast<void*>(in), 0, slab().held(0), width);
        pieces_.held.front() = network::piece_of_rows(network_.graph(), 0, slab().held(0), width);
        at::Tensor made = network_.rows_at(out, output, slab().owned(output), width);
        for (size_t step = 0; step < steps_.size(); ++step) run_step(step, made);
    });
}

void Slab::run_step(size_t step, at::Tensor& out) {
    const network::PieceStep& piece = steps_[step];
    wait_for_rows_of(piece.maps);
    network_.run_piece(step, piece, pieces_, out);
    if (travels(piece.step.last)) send_rows_of(piece.step.last);
}

/// Rows of a map of one image in NHWC lie one after another.
std::span<std::byte> Slab::bytes_of(size_t map, const Range& rows) const {
    const int64_t row_bytes = slab().row_bytes(map);
    auto* const first = static_cast<std::byte*>(pieces_.maps[map].data_ptr());
    return {first + (rows.begin - slab().held(map).begin) * row_bytes, static_cast<size_t>(rows.size() * row_bytes)};
}

Cropped::Cropped(const Network& network, const network::WindowCrop& crop, int64_t n, const ExpectedViews& expected,
                 Runner runner)
    : AlikeCropPass(crop, n, expected), network_(network), runner_(std::move(runner)) {}

void Cropped::run_alike(const BatchView& in, const BatchView& out, const Rect& core, StepClock* clock) {
    const auto& steps = steps_for(core);
    runner_([&] {
        at::Tensor result = as_tensor(out, network_.options());
        network_.run_pieces(steps, as_tensor(in, network_.options()), result, clock);
    });
}

const std::vector<network::PieceStep>& Cropped::steps_for(const Rect& core) {
    auto kind = std::ranges::find(kinds_, core, &Kind::core);
    if (kind == kinds_.end()) kind = kinds_.insert(kinds_.end(), {core, crop().steps_for(core)});
    return kind->steps;
}

}  // namespace pb::engine::torch_engine
