#include "engine/torch/carried_rows.hpp"

#include "network/band_phases.hpp"

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

/// To the beginning of `store`.
void copy_to(const at::Tensor& store, const at::Tensor& rows) {
    at::Tensor there = store.slice(2, 0, rows.size(2));
    there.copy_(rows);
}

}  // namespace

CarriedRows::CarriedRows(const network::BandSchedule& schedule, const at::TensorOptions& options,
                         network::RowMemory memory)
    : schedule_(schedule),
      memory_(memory),
      is_ring_(network::rings_of(schedule)),
      places_(network::places_of_chunks(schedule)),
      chunks_(is_ring_.size(), std::vector<at::Tensor>(static_cast<size_t>(places_))),
      kept_(is_ring_.size()) {
    if (is_fixed()) make_stores(options);
}

void CarriedRows::make_stores(const at::TensorOptions& options) {
    const std::vector<int64_t> rows = network::rows_stored(schedule_);
    for (size_t map = 0; map < rows.size(); ++map) {
        const auto& shape = schedule_.graph().shape(map);
        const auto make = [&](at::Tensor& store) {
            store = at::empty({1, shape.channels, rows[map], schedule_.shape().image.w / shape.scale}, options,
                              at::MemoryFormat::ChannelsLast);
        };
        if (is_ring_[map])
            std::ranges::for_each(chunks_[map], make);
        else if (rows[map] > 0)
            make(kept_[map]);
    }
}

void CarriedRows::clear() {
    if (is_fixed()) return;
    std::ranges::fill(kept_, at::Tensor());
    for (auto& chunks : chunks_) std::ranges::fill(chunks, at::Tensor());
}

/// Those of the input are the caller's.
void CarriedRows::add_chunk(int64_t step, size_t map, at::Tensor made) {
    at::Tensor& chunk = chunks_[map][place_of(step)];
    if (is_fixed())
        copy_to(chunk, made);
    else
        chunk = map == 0 ? made.clone() : std::move(made);
}

int64_t CarriedRows::first_step_held(int64_t step) const { return std::max<int64_t>(0, step - places_ + 1); }

at::Tensor CarriedRows::rows_of_ring(int64_t step, size_t map, const Range& rows) const {
    std::vector<at::Tensor> parts;
    for (int64_t maker = first_step_held(step); maker <= step; ++maker) {
        const Range made = schedule_.made(maker, map);
        const Range part{std::max(rows.begin, made.begin), std::min(rows.end, made.end)};
        if (part.size() > 0)
            parts.push_back(chunks_[map][place_of(maker)].slice(2, part.begin - made.begin, part.end - made.begin));
    }
    return parts.size() == 1 ? parts.front() : join_rows(parts);
}

void CarriedRows::drop_chunks(int64_t step, size_t map) {
    if (is_fixed()) return;
    const int64_t first_row = schedule_.kept(step, map).begin;
    for (int64_t maker = first_step_held(step); maker <= step; ++maker)
        if (schedule_.made(maker, map).end <= first_row) chunks_[map][place_of(maker)].reset();
}

void CarriedRows::keep(size_t map, const at::Tensor& rows) {
    if (rows.size(2) == 0) return;
    if (is_fixed())
        copy_to(kept_[map], rows);
    else
        kept_[map] = rows.clone(at::MemoryFormat::ChannelsLast);
}

at::Tensor CarriedRows::take_kept(int64_t step, size_t map) {
    if (!is_fixed()) return std::exchange(kept_[map], {});
    const int64_t rows = schedule_.made(step, map).begin - schedule_.held(step, map).begin;
    return rows > 0 ? kept_[map].slice(2, 0, rows) : at::Tensor();
}

at::Tensor CarriedRows::joined(int64_t step, size_t map, at::Tensor made) {
    at::Tensor kept = take_kept(step, map);
    if (!kept.defined()) return made;
    if (made.defined()) return join_rows({kept, made});
    return is_fixed() ? kept.clone(at::MemoryFormat::ChannelsLast) : kept;
}

}  // namespace pb::engine::torch_engine
