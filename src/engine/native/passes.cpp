#include "engine/native/passes.hpp"

#include "base/mapped.hpp"

#include <algorithm>
#include <utility>

namespace pb::engine::native {

namespace {

constexpr int64_t tile_begin(int64_t row) { return row / network::kWinogradTile * network::kWinogradTile; }

}  // namespace

Bands::Bands(Network& network, const network::BandSchedule& schedule)
    : network_(network),
      schedule_(schedule),
      memory_(network::plan_bands(schedule)),
      origin_(schedule.origin_in(network.graph())),
      calls_(network.calls_for(schedule.graph(), origin_)),
      last_reads_(calls_.size()),
      buffer_(network.buffer_for(memory_.arena)) {
    place_.scratch = network.scratch_in(buffer_, memory_.arena);
    place_.maps.resize(origin_.size());
    const auto last_readers = network::last_readers_of(schedule.graph(), mapped(calls_, &Network::Call::step));
    for (size_t i = 0; i < memory_.maps.size(); ++i)
        if (memory_.maps[i].block) last_reads_[last_readers[i]].push_back(i);
}

float* Bands::block(size_t number) const { return block_in(buffer_, memory_.arena, number); }

Map Bands::map_at(int64_t step, size_t operation) const {
    const network::BandMap& planned = memory_.maps[operation];
    Map map = network_.map_of(origin_[operation], 1, schedule_.shape().image);
    map.made = schedule_.made(step, operation);
    if (!planned.block) return map;
    map.rows.values = block(*planned.block);
    map.rows.places = planned.places;
    map.rows.first = planned.is_ring ? 0 : schedule_.held(step, operation).begin;
    return map;
}

void Bands::run(int64_t step, const void* in, void* out) {
    for (size_t i = 0; i < place_.maps.size(); ++i) place_.maps[i] = map_at(step, i);
    const size_t output = schedule_.graph().output();
    const Range finished = schedule_.made(step, output);
    place_.maps[output].rows.values = static_cast<float*>(out);
    place_.maps[output].rows.first = finished.begin;
    place_.maps[output].rows.places = std::max<int64_t>(1, finished.size());
    bring(step, 0);
    take(schedule_.made(step, 0), static_cast<const float*>(in));
    for (size_t s = 0; s < calls_.size(); ++s) {
        const size_t made = calls_[s].step.last;
        bring(step, made);
        if (schedule_.made(step, made).size() > 0) network_.run_call(calls_[s], place_);
        for (const size_t map : last_reads_[s]) keep(step, map);
        tell_layer(static_cast<int64_t>(s) + 1, std::ssize(calls_));
    }
}

void Bands::take(const Range& rows, const float* in) {
    const MapRows<float>& input = place_.maps.front().rows;
    for (int64_t y = rows.begin; y < rows.end; ++y)
        std::copy_n(in + (y - rows.begin) * input.row_floats, input.row_floats, input.row(0, y));
}

void Bands::bring(int64_t step, size_t operation) {
    const network::BandMap& planned = memory_.maps[operation];
    if (!planned.kept_block || step == 0) return;
    const MapRows<float>& rows = place_.maps[operation].rows;
    std::copy_n(block(*planned.kept_block), schedule_.kept(step - 1, operation).size() * rows.row_floats, rows.values);
}

void Bands::keep(int64_t step, size_t operation) {
    const network::BandMap& planned = memory_.maps[operation];
    if (!planned.kept_block) return;
    const MapRows<float>& rows = place_.maps[operation].rows;
    const Range kept = schedule_.kept(step, operation);
    if (kept.size() > 0)
        std::copy_n(rows.row(0, kept.begin), kept.size() * rows.row_floats, block(*planned.kept_block));
}

Slab::Slab(Network& network, const network::ExchangedSlab& slab)
    : TravellingSlabPass(slab),
      network_(network),
      memory_(network::plan_exchanged(network.graph(), slab)),
      buffer_(network.buffer_for(memory_.arena)) {
    place_.scratch = network.scratch_in(buffer_, memory_.arena);
    place_.maps.reserve(network.graph().size());
    for (size_t i = 0; i < network.graph().size(); ++i) place_.maps.push_back(map_at(i));
}

Map Slab::map_at(size_t operation) const {
    Map map = network_.map_of(operation, 1, slab().shape().image);
    map.made = slab().owned(operation);
    map.rows.first = memory_.rows[operation].begin;
    map.rows.places = memory_.rows[operation].size();
    if (const auto block = memory_.block_of[operation]) map.rows.values = block_in(buffer_, memory_.arena, *block);
    return map;
}

void Slab::run(const void* in, void* out, RowExchange* exchange) {
    place_.maps.front().rows.values = static_cast<float*>(const_cast<void*>(in));  // which no step writes
    place_.maps[network_.graph().output()].rows.values = static_cast<float*>(out);
    begin_pass(exchange);
    for (size_t step = 0; step < network_.steps().size(); ++step) {
        wait_for_rows_of(network::maps_read(network_.graph(), network_.steps()[step]));
        run_step(step);
    }
}

void Slab::run_step(size_t step) {
    const size_t made = network_.steps()[step].last;
    if (!travels(made)) return compute(step, slab().owned(made));
    const Range above = tiles_sent(made, network::Side::above);
    Range below = tiles_sent(made, network::Side::below);
    below.begin = std::max(below.begin, above.end);  // a slab of one tile
    compute(step, above);
    compute(step, below);
    send_rows_of(made);
    compute(step, {above.end, below.begin});
}

void Slab::compute(size_t step, const Range& rows) {
    if (rows.size() <= 0) return;
    place_.maps[network_.steps()[step].last].made = rows;
    network_.run_step(step, place_);
}

Range Slab::tiles_sent(size_t operation, network::Side to) const {
    const Range owned = slab().owned(operation), sent = slab().sent(operation, to);
    if (to == network::Side::above)
        return {owned.begin, sent.size() == 0 ? owned.begin
                                              : std::min(owned.end, tile_begin(sent.end - 1) + network::kWinogradTile)};
    return {sent.size() == 0 ? owned.end : std::max(owned.begin, tile_begin(sent.begin)), owned.end};
}

std::span<std::byte> Slab::bytes_of(size_t map, const Range& rows) const {
    float* const first = place_.maps[map].rows.row(0, rows.begin);
    return {reinterpret_cast<std::byte*>(first), static_cast<size_t>(rows.size() * slab().row_bytes(map))};
}

Cropped::Cropped(Network& network, const network::WindowCrop& crop, int64_t n, const ExpectedViews& expected)
    : AlikeCropPass(crop, n, expected), network_(network), arena_(crop.place(n)), buffer_(network.buffer_for(arena_)) {
    place_.scratch = network.scratch_in(buffer_, arena_);
    place_.maps.resize(network.graph().size());
}

Map Cropped::map_at(size_t operation, int64_t n, const Rect& core) const {
    Map map = network_.map_of(operation, n, crop().window());
    const auto &rows = crop().rows_of(core), &columns = crop().columns_of(core);
    map.made = rows.made[operation];
    map.columns = columns.made[operation];
    const auto block = crop().memory().block_of[operation];
    if (!block) {
        map.rows.places = map.h;
        return map;
    }
    map.rows.values = block_in(buffer_, arena_, *block);
    map.rows.first = rows.held[operation].begin;
    map.rows.places = rows.held[operation].size();
    map.rows.first_column = columns.held[operation].begin;
    map.rows.row_floats = columns.held[operation].size() * map.channels;
    return map;
}

void Cropped::place_maps(const BatchView& in, const BatchView& out, const Rect& core) {
    for (size_t i = 0; i < place_.maps.size(); ++i) place_.maps[i] = map_at(i, in.shape.n, core);
    place_.maps.front().rows.values = static_cast<float*>(in.pointer);  // which no step writes
    place_.maps[network_.graph().output()].rows.values = static_cast<float*>(out.pointer);
}

void Cropped::run_alike(const BatchView& in, const BatchView& out, const Rect& core, StepClock* clock) {
    place_maps(in, out, core);
    network_.run_steps(place_, clock);
}

}  // namespace pb::engine::native
