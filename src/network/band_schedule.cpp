#include "network/band_schedule.hpp"

#include "network/receptive_field.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <utility>

namespace pb::network {

BandSchedule::BandSchedule(const Graph& network, const BandShape& shape)
    : BandSchedule(network, without_late_map(network), shape) {}

BandSchedule::BandSchedule(const Graph& network, LateGraph computed, const BandShape& shape)
    : network_(network),
      computed_graph_(std::move(computed)),
      shape_(shape),
      computed_(computed_ranges(graph(), shape.rows, shape.image.h, shape.unit)) {
    require(shape.band > 0 && shape.rows.size() > 0, "a band schedule has rows");
    std::vector<State> states;  // from the last step to the first
    for (int64_t end = shape.rows.begin + round_up(shape.rows.size(), shape.band);; end -= shape.band) {
        states.push_back(state_at(end));
        if (states.back().made_end.front() == computed_.front().begin) break;  // no input is taken before
    }
    states_.assign(states.rbegin(), states.rend());
    states_.front().kept_begin = states_.front().made_end;
    count_macs();
}

void BandSchedule::count_macs() {
    const double band = mac_per_pixel(graph()) * static_cast<double>(shape_.band * shape_.image.w);
    macs_ = macs_of(graph(), computed_, shape_.image.w);
    std::vector<int64_t> busiest;  // steps
    for (int64_t step = 0; step < num_steps(); ++step) {
        std::vector<Range> rows(graph().size());
        for (size_t i = 0; i < rows.size(); ++i) rows[i] = made(step, i);
        const double part = macs_of(graph(), rows, shape_.image.w) / band;
        if (part > busiest_part_) busiest.clear();
        busiest_part_ = std::max(busiest_part_, part);
        if (part == busiest_part_) busiest.push_back(step);
    }
    busiest_step_ = busiest[busiest.size() / 2];
}

BandSchedule::State BandSchedule::state_at(int64_t output_end) const {
    const std::vector<Range> reached = computed_ranges(graph(), {output_end - 1, output_end}, shape_.unit);
    State state;
    state.made_end.reserve(graph().size());
    for (size_t i = 0; i < graph().size(); ++i)
        state.made_end.push_back(std::clamp(reached[i].end, computed_[i].begin, computed_[i].end));
    release_rows(state);
    return state;
}

/// A row is needed until all its readers are beyond it.
void BandSchedule::release_rows(State& state) const {
    state.kept_begin = state.made_end;
    const auto need = [&](size_t map, int64_t first_row) {
        int64_t& kept = state.kept_begin[map];
        kept = std::max(computed_[map].begin, std::min(kept, first_row));
    };
    for (const Step& step : steps_of(graph(), fusing_of(shape_.unit))) {
        const int64_t next = state.made_end[step.last];
        if (next == computed_[step.last].end) continue;
        const Range read = pixels_read(graph()[step.first], {next, next + 1});
        for (const size_t operand : operands_of(graph(), step)) need(operand, read.begin);
        if (const auto other = map_summed(graph(), step)) need(*other, next);
    }
}

Range BandSchedule::made(int64_t step, size_t operation) const {
    return {before(step).made_end[operation], after(step).made_end[operation]};
}

Range BandSchedule::held(int64_t step, size_t operation) const {
    return {before(step).kept_begin[operation], after(step).made_end[operation]};
}

Range BandSchedule::kept(int64_t step, size_t operation) const {
    return {after(step).kept_begin[operation], after(step).made_end[operation]};
}

int64_t BandSchedule::most_input_rows() const {
    int64_t most = 0;
    for (int64_t step = 0; step < num_steps(); ++step) most = std::max(most, made(step, 0).size());
    return most;
}

const std::vector<size_t>& BandSchedule::origin_in(const Graph& network) const {
    require(network == network_, "a band schedule of another network");
    return computed_graph_.origin;
}

BandSchedule smallest_schedule(const Graph& network, const BandShape& shape,
                               const std::function<int64_t(const BandSchedule&)>& bytes) {
    BandSchedule schedule(network, shape);
    auto late = with_late_map(network);
    if (!late) return schedule;
    BandSchedule other(network, *std::move(late), shape);
    return bytes(other) < bytes(schedule) ? other : schedule;
}

}  // namespace pb::network
