#include "engine/native/bands.hpp"

#include <algorithm>

namespace pb::engine::native {

Bands::Bands(Network& network, const network::BandSchedule& schedule)
    : network_(network),
      schedule_(schedule),
      memory_(network::plan_bands(network.graph(), schedule)),
      last_read_(network.steps().size()),
      buffer_({}, static_cast<size_t>(memory_.arena.bytes + network.scratch_bytes())) {
    place_.scratch = network.scratch_in(static_cast<std::byte*>(buffer_.pointer()) + memory_.arena.bytes);
    place_.maps.resize(network.graph().size());
    const auto last_readers = network::last_readers_of(network.graph(), network.steps());
    for (size_t i = 0; i < memory_.maps.size(); ++i)
        if (memory_.maps[i].block) last_read_[last_readers[i]].push_back(i);
}

float* Bands::block(size_t number) const { return block_in(buffer_.pointer(), memory_.arena, number); }

Map Bands::map_at(int64_t step, size_t operation) const {
    const network::BandMap& planned = memory_.maps[operation];
    Map map = network_.map_of(operation, 1, schedule_.shape().image);
    map.made = schedule_.made(step, operation);
    if (!planned.block) return map;
    map.rows.values = block(*planned.block);
    map.rows.places = planned.places;
    map.rows.first = planned.is_ring ? 0 : schedule_.held(step, operation).begin;
    return map;
}

void Bands::run(int64_t step, const void* in, void* out) {
    for (size_t i = 0; i < place_.maps.size(); ++i) place_.maps[i] = map_at(step, i);
    const size_t output = network_.graph().output();
    const Range finished = schedule_.made(step, output);
    place_.maps[output].rows.values = static_cast<float*>(out);
    place_.maps[output].rows.first = finished.begin;
    place_.maps[output].rows.places = std::max<int64_t>(1, finished.size());
    bring(step, 0);
    take(schedule_.made(step, 0), static_cast<const float*>(in));
    for (size_t s = 0; s < last_read_.size(); ++s) {
        const size_t made = network_.steps()[s].last;
        bring(step, made);
        if (schedule_.made(step, made).size() > 0) network_.run_step(s, place_);
        for (const size_t map : last_read_[s]) keep(step, map);
        tell_layer(static_cast<int64_t>(s) + 1, std::ssize(last_read_));
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

}  // namespace pb::engine::native
