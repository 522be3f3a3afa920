#include "engine/native/slab.hpp"

#include <algorithm>
#include <utility>

namespace pb::engine::native {

namespace {

constexpr int64_t tile_begin(int64_t row) { return row / network::kWinogradTile * network::kWinogradTile; }

}  // namespace

Slab::Slab(Network& network, const network::ExchangedSlab& slab)
    : network_(network),
      slab_(slab),
      memory_(network::plan_exchanged(network.graph(), slab)),
      buffer_({}, static_cast<size_t>(memory_.arena.bytes + network.scratch_bytes())) {
    place_.scratch = network.scratch_in(static_cast<std::byte*>(buffer_.pointer()) + memory_.arena.bytes);
    place_.maps.reserve(network.graph().size());
    for (size_t i = 0; i < network.graph().size(); ++i) place_.maps.push_back(map_at(i));
}

Map Slab::map_at(size_t operation) const {
    Map map = network_.map_of(operation, 1, slab_.shape().image);
    map.made = slab_.owned(operation);
    map.rows.first = memory_.rows[operation].begin;
    map.rows.places = memory_.rows[operation].size();
    if (const auto block = memory_.block_of[operation])
        map.rows.values = block_in(buffer_.pointer(), memory_.arena, *block);
    return map;
}

void Slab::run(const void* in, void* out, RowExchange* exchange) {
    place_.maps.front().rows.values = static_cast<float*>(const_cast<void*>(in));  // which no step writes
    place_.maps[network_.graph().output()].rows.values = static_cast<float*>(out);
    in_flight_.reset();
    for (size_t step = 0; step < network_.steps().size(); ++step) {
        if (reads(step, in_flight_)) {
            exchange->finish();
            in_flight_.reset();
        }
        run_step(step, exchange);
    }
}

void Slab::run_step(size_t step, RowExchange* exchange) {
    const size_t made = network_.steps()[step].last;
    if (exchange == nullptr || !travels(made)) return compute(step, slab_.owned(made));
    const Range above = tiles_sent(made, network::Side::above);
    Range below = tiles_sent(made, network::Side::below);
    below.begin = std::max(below.begin, above.end);  // a slab of one tile
    compute(step, above);
    compute(step, below);
    if (in_flight_) exchange->finish();
    exchange->start(border_rows(made, network::Side::above), border_rows(made, network::Side::below));
    in_flight_ = made;
    compute(step, {above.end, below.begin});
}

bool Slab::reads(size_t step, std::optional<size_t> map) const {
    if (!map) return false;
    const std::vector<size_t> read = network::maps_read(network_.graph(), network_.steps()[step]);
    return std::find(read.begin(), read.end(), *map) != read.end();
}

bool Slab::travels(size_t operation) const {
    const std::vector<size_t>& maps = slab_.travelling();
    return std::binary_search(maps.begin(), maps.end(), operation);
}

void Slab::compute(size_t step, const Range& rows) {
    if (rows.size() <= 0) return;
    place_.maps[network_.steps()[step].last].made = rows;
    network_.run_step(step, place_);
}

Range Slab::tiles_sent(size_t operation, network::Side to) const {
    const Range owned = slab_.owned(operation), sent = slab_.sent(operation, to);
    if (to == network::Side::above)
        return {owned.begin, sent.size() == 0 ? owned.begin
                                              : std::min(owned.end, tile_begin(sent.end - 1) + network::kWinogradTile)};
    return {sent.size() == 0 ? owned.end : std::max(owned.begin, tile_begin(sent.begin)), owned.end};
}

BorderRows Slab::border_rows(size_t operation, network::Side side) const {
    return {bytes_of(operation, slab_.sent(operation, side)), bytes_of(operation, slab_.received(operation, side))};
}

std::span<std::byte> Slab::bytes_of(size_t operation, const Range& rows) const {
    if (rows.size() == 0) return {};
    float* const first = place_.maps[operation].rows.row(0, rows.begin);
    return {reinterpret_cast<std::byte*>(first), static_cast<size_t>(rows.size() * slab_.row_bytes(operation))};
}

}  // namespace pb::engine::native
