#include "network/parts/band_phases.hpp"

#include "network/parts/band_pieces.hpp"

#include <algorithm>

namespace pb::network {

namespace {

/// Chunks of a ring that are in memory when a step has added its own.
int64_t chunks_held(const BandSchedule& schedule, int64_t step, size_t ring) {
    const int64_t first_row = schedule.held(step, ring).begin;
    int64_t chunks = 1;
    while (chunks <= step && schedule.made(step - chunks, ring).end > first_row) ++chunks;
    return chunks;
}

/// Whether `step` does what the step before it does, one band further down. It does not at a border of the image, where
/// less is held of what a layer reads.
bool repeats_the_one_before(const BandSchedule& schedule, int64_t step) {
    const auto is_shifted = [&](size_t map, const Range& before, const Range& after) {
        const int64_t rows = schedule.shape().band / schedule.graph().shape(map).scale;
        return after == Range{before.begin + rows, before.end + rows};
    };
    for (size_t map = 0; map < schedule.graph().size(); ++map)
        if (!is_shifted(map, schedule.made(step - 1, map), schedule.made(step, map)) ||
            !is_shifted(map, schedule.held(step - 1, map), schedule.held(step, map)) ||
            !is_shifted(map, schedule.kept(step - 1, map), schedule.kept(step, map)))
            return false;
    return true;
}

}  // namespace

int64_t places_of_chunks(const BandSchedule& schedule) {
    const std::vector<bool> rings = rings_of(schedule);
    int64_t places = 1;
    for (size_t map = 0; map < rings.size(); ++map)
        for (int64_t step = 0; rings[map] && step < schedule.num_steps(); ++step)
            places = std::max(places, chunks_held(schedule, step, map));
    return places;
}

/// The longest run of steps that repeat the one before, without those that read chunks from before the run.
BandPhases::BandPhases(const BandSchedule& schedule) : places_(places_of_chunks(schedule)) {
    Range run{0, 1};
    for (int64_t step = 1; step <= schedule.num_steps(); ++step) {
        if (step < schedule.num_steps() && repeats_the_one_before(schedule, step)) {
            run.end = step + 1;
            continue;
        }
        if (run.size() > steps_.size()) steps_ = run;
        run = {step, step + 1};
    }
    steps_.begin = std::min(steps_.begin + places_ - 1, steps_.end);
}

std::optional<int64_t> BandPhases::phase_of(int64_t step) const {
    if (step < steps_.begin || step >= steps_.end) return std::nullopt;
    return step % places_;
}

}  // namespace pb::network
