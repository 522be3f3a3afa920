#include "engine/native/bands.hpp"

#include <algorithm>

namespace pb::engine::native {

namespace {

size_t step_that_makes(const std::vector<network::Step>& steps, size_t map) {
    return static_cast<size_t>(std::ranges::find(steps, map, &network::Step::last) - steps.begin());
}

}  // namespace

Bands::Bands(Network& network, const network::BandSchedule& schedule)
    : network_(network),
      schedule_(schedule),
      memory_(network::plan_bands(schedule)),
      origin_(schedule.origin_in(network.graph())),
      calls_(make_calls()),
      buffer_({}, static_cast<size_t>(memory_.arena.bytes + network.scratch_bytes())),
      maps_(origin_.size()) {
    place_.scratch = network.scratch_in(static_cast<std::byte*>(buffer_.pointer()) + memory_.arena.bytes);
    place_.maps.resize(network.graph().size());
}

std::vector<Bands::Call> Bands::make_calls() const {
    const network::Graph& graph = schedule_.graph();
    const std::vector<network::Step> steps = network::steps_of(graph, network::kNativePath.fusing);
    std::vector<Call> calls;
    for (const network::Step& step : steps) {
        const size_t own = step_that_makes(network_.steps(), origin_[step.last]);
        const bool is_one = network_.steps()[own].first == origin_[step.first];
        Call call{.step = step, .reads = network::maps_read(graph, step), .steps = {own}, .last_reads = {}};
        if (!is_one) call.steps = {step_that_makes(network_.steps(), origin_[step.first]), own};
        calls.push_back(std::move(call));
    }
    const auto last_readers = network::last_readers_of(graph, steps);
    for (size_t i = 0; i < memory_.maps.size(); ++i)
        if (memory_.maps[i].block) calls[last_readers[i]].last_reads.push_back(i);
    return calls;
}

float* Bands::block(size_t number) const { return block_in(buffer_.pointer(), memory_.arena, number); }

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
    for (size_t i = 0; i < maps_.size(); ++i) maps_[i] = map_at(step, i);
    const size_t output = schedule_.graph().output();
    const Range finished = schedule_.made(step, output);
    maps_[output].rows.values = static_cast<float*>(out);
    maps_[output].rows.first = finished.begin;
    maps_[output].rows.places = std::max<int64_t>(1, finished.size());
    bring(step, 0);
    take(schedule_.made(step, 0), static_cast<const float*>(in));
    for (size_t s = 0; s < calls_.size(); ++s) {
        const size_t made = calls_[s].step.last;
        bring(step, made);
        if (schedule_.made(step, made).size() > 0) run(calls_[s]);
        for (const size_t map : calls_[s].last_reads) keep(step, map);
        tell_layer(static_cast<int64_t>(s) + 1, std::ssize(calls_));
    }
}

void Bands::run(const Call& call) {
    for (const size_t map : call.reads) place_.maps[origin_[map]] = maps_[map];
    place_.maps[origin_[call.step.first]] = place_.maps[origin_[call.step.last]] = maps_[call.step.last];
    for (const size_t step : call.steps) network_.run_step(step, place_);
}

void Bands::take(const Range& rows, const float* in) {
    const MapRows<float>& input = maps_.front().rows;
    for (int64_t y = rows.begin; y < rows.end; ++y)
        std::copy_n(in + (y - rows.begin) * input.row_floats, input.row_floats, input.row(0, y));
}

void Bands::bring(int64_t step, size_t operation) {
    const network::BandMap& planned = memory_.maps[operation];
    if (!planned.kept_block || step == 0) return;
    const MapRows<float>& rows = maps_[operation].rows;
    std::copy_n(block(*planned.kept_block), schedule_.kept(step - 1, operation).size() * rows.row_floats, rows.values);
}

void Bands::keep(int64_t step, size_t operation) {
    const network::BandMap& planned = memory_.maps[operation];
    if (!planned.kept_block) return;
    const MapRows<float>& rows = maps_[operation].rows;
    const Range kept = schedule_.kept(step, operation);
    if (kept.size() > 0)
        std::copy_n(rows.row(0, kept.begin), kept.size() * rows.row_floats, block(*planned.kept_block));
}

}  // namespace pb::engine::native
