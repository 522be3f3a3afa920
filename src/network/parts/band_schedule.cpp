#include "network/parts/band_schedule.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/memory_plan.hpp"

#include <numeric>
#include <utility>

namespace pb::network {

namespace {

bool is_wider_than_the_input(const Graph& graph, const Step& step) {
    const Operation& operation = graph[step.first];
    return operation.kind == OperationKind::convolution && operation.operands.front() == 0 &&
           !map_summed(graph, step) && graph.shape(step.last).channels > graph.channels_in();
}

/// The steps that read `map`.
std::vector<Step> readers_of(const Graph& graph, const std::vector<Step>& steps, size_t map) {
    std::vector<Step> readers;
    std::ranges::copy_if(steps, std::back_inserter(readers),
                         [&](const Step& step) { return std::ranges::count(maps_read(graph, step), map) > 0; });
    return readers;
}

/// Whether `reader` adds `map` to a convolution of a concatenation of it: as one step it would read map and copy.
bool reads_twice(const Graph& graph, const Step& reader, size_t map) {
    const Operation& operand = graph[graph[reader.first].operands.front()];
    return map_summed(graph, reader) == map && operand.kind == OperationKind::concatenate &&
           std::ranges::count(operand.operands, map) > 0;
}

/// Copies a graph, and in front of operation `reader.first` the operations of `head` once more.
class LateCopy {
  public:
    LateCopy(const Graph& graph, const Step& head, const Step& reader) : graph_(graph), head_(head), reader_(reader) {}

    LateGraph run() {
        for (size_t i = 0; i < graph_.size(); ++i) {
            if (i == reader_.first) repeat_head();
            Operation operation = graph_[i];
            const bool reads_copy = i == reader_.first || i == reader_.last;
            for (size_t& operand : operation.operands)
                operand = reads_copy && operand == head_.last ? copy_ : places_[operand];
            places_.push_back(append(std::move(operation), i));
        }
        return {Graph(std::move(operations_)), std::move(origin_)};
    }

  private:
    void repeat_head() {
        Operation convolution = graph_[head_.first];
        convolution.filter->weights += " again";  // names are of one operation
        copy_ = append(std::move(convolution), head_.first);
        if (head_.first == head_.last) return;
        Operation activation = graph_[head_.last];
        activation.operands = {copy_};
        copy_ = append(std::move(activation), head_.last);
    }

    size_t append(Operation operation, size_t origin) {
        operations_.push_back(std::move(operation));
        origin_.push_back(origin);
        return operations_.size() - 1;
    }

    const Graph& graph_;
    Step head_, reader_;
    std::vector<Operation> operations_;
    std::vector<size_t> origin_, places_;  // where operations of the graph are in the copy
    size_t copy_ = 0;
};

class BandPlanner {
  public:
    explicit BandPlanner(const BandSchedule& schedule)
        : graph_(schedule.graph()),
          schedule_(schedule),
          steps_(steps_of(graph_, fusing_of(schedule.shape().unit))),
          maps_(graph_.size()) {}

    BandMemory run() {
        const std::vector<size_t> last_readers = last_readers_of(graph_, steps_);
        place(0, {0, static_cast<int64_t>(last_readers.front()) + 2});
        for (size_t s = 0; s < steps_.size(); ++s) {
            const size_t map = steps_[s].last;
            if (map != graph_.output())
                place(map, {static_cast<int64_t>(s) + 1, static_cast<int64_t>(last_readers[map]) + 2});
        }
        return {std::move(maps_), place_blocks(blocks_, 0)};
    }

  private:
    /// `life`: of a map that is no ring, in moments of a step: 0 takes the input, moment s + 1 runs steps_[s].
    void place(size_t operation, const Range& life) {
        const MapShape& shape = graph_.shape(operation);
        BandMap& map = maps_[operation];
        map.row_bytes = schedule_.shape().image.w / shape.scale * shape.channels * kNativePath.value_bytes;
        map.places = schedule_.most(&BandSchedule::held, operation);
        const int64_t kept = schedule_.most(&BandSchedule::kept, operation);
        map.is_ring = kept > schedule_.most(&BandSchedule::made, operation);
        const Range always{0, std::ssize(steps_) + 1};
        if (map.is_ring) map.places = round_up(map.places, kWinogradTile);
        map.block = add_block(map.places * map.row_bytes, map.is_ring ? always : life);
        if (map.is_ring || kept == 0) return;
        map.kept_block = add_block(kept * map.row_bytes, always);
    }

    [[nodiscard]] size_t add_block(int64_t bytes, const Range& life) {
        blocks_.blocks.push_back({.size = {.fixed_bytes = bytes},
                                  .begin = static_cast<size_t>(life.begin),
                                  .end = static_cast<size_t>(life.end)});
        return blocks_.blocks.size() - 1;
    }

    const Graph& graph_;
    const BandSchedule& schedule_;
    std::vector<Step> steps_;
    std::vector<BandMap> maps_;
    MemoryPlan blocks_;
};

}  // namespace

LateGraph without_late_map(const Graph& graph) {
    std::vector<size_t> origin(graph.size());
    std::iota(origin.begin(), origin.end(), size_t{0});
    return {graph, std::move(origin)};
}

std::optional<LateGraph> with_late_map(const Graph& graph) {
    const std::vector<Step> steps = steps_of(graph, {});  // a concatenation reads the copy, whoever reads it then
    for (const Step& step : steps) {
        if (!is_wider_than_the_input(graph, step)) continue;
        const std::vector<Step> readers = readers_of(graph, steps, step.last);
        if (readers.size() < 2) continue;
        const Step& reader = readers.back();
        if (!reads_twice(graph, reader, step.last)) return LateCopy(graph, step, reader).run();
    }
    return std::nullopt;
}

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
    whole_bands_ = macs_ / band;
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

int64_t BandSchedule::most(Range (BandSchedule::*rows)(int64_t, size_t) const, size_t operation) const {
    int64_t most = 0;
    for (int64_t step = 0; step < num_steps(); ++step) most = std::max(most, (this->*rows)(step, operation).size());
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

StripCut::StripCut(const Graph& graph, int64_t width, ComputedUnit unit)
    : width_(width), unit_(alignment_of(graph) * (unit == ComputedUnit::tile ? kWinogradTile : 1)) {
    const Range seen = computed_ranges(graph, {0, unit_}, unit).front();
    const int64_t after = seen.end - unit_, rest = width % unit_;  // each window is whole units and this rest wide
    before_ = ceil_div(-seen.begin, unit_);
    context_ = before_ + ceil_div(std::max<int64_t>(0, after - rest), unit_);
    steps_ = width / unit_ - context_;
}

int64_t StripCut::window_of(int64_t num_strips) const {
    if (num_strips == 1) return width_;
    require(num_strips > 1 && num_strips <= most_strips(), "more strips than the image has columns for");
    return width_ % unit_ + (context_ + ceil_div(steps_, num_strips)) * unit_;
}

std::vector<Strip> StripCut::strips(int64_t window) const {
    if (window == width_) return {{{0, width_}, {0, width_}}};
    const int64_t step = window / unit_ - context_;  // units from a core to the next one
    require(step > 0 && window < width_ && (width_ - window) % unit_ == 0, "a window that cuts no strips");
    const int64_t count = ceil_div(steps_, step);
    std::vector<Strip> strips;
    int64_t core = 0;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t first = i * step;
        const int64_t begin = std::min(first * unit_, width_ - window);
        const int64_t end = i + 1 == count ? width_ : (first + step + before_) * unit_;
        strips.push_back({{begin, begin + window}, {core, end}});
        core = end;
    }
    return strips;
}

BandMemory plan_bands(const BandSchedule& schedule) { return BandPlanner(schedule).run(); }

}  // namespace pb::network
