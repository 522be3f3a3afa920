#include "network/parts/band_pieces.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace pb::network {

namespace {

/// Goes through the steps of a pass and adds up what is allocated.
class BandCounter {
  public:
    BandCounter(const BandSchedule& schedule, const MemoryPath& path, RowMemory row_memory)
        : graph_(schedule.graph()),
          schedule_(schedule),
          path_(path),
          row_memory_(row_memory),
          memory_(plan_memory(graph_, path)),
          last_readers_(last_readers_of(graph_, memory_.steps)),
          is_ring_(rings_of(schedule)),
          maps_(graph_.size()),
          kept_(graph_.size()),
          is_kept_(graph_.size()),
          chunks_(graph_.size()),
          stores_(row_memory == RowMemory::fixed ? bytes_of_stores() : 0),
          live_(stores_),
          peak_(stores_) {}

    int64_t peak() {
        const int64_t bands = schedule_.num_steps(), different = num_different();
        for (int64_t band = 0; band < bands; ++band) {
            if (band == different && 2 * different < bands) {
                band = bands - different;
                hold_what_is_kept(band - 1);
            }
            is_kept_.assign(graph_.size(), false);
            store(band, 0);
            for (size_t s = 0; s < memory_.steps.size(); ++s) run(band, s);
        }
        return peak_;
    }

  private:
    struct Chunk {
        Range rows;
        int64_t bytes;
    };

    /// Steps until each has the shape of the one before. From there on no more are at the end of the image.
    [[nodiscard]] int64_t num_different() const {
        int64_t first = 0;
        while (first + 1 < schedule_.num_steps() && schedule_.made(first, graph_.output()).size() == 0) ++first;
        constexpr int64_t kMore = 8;
        return first + kMore;
    }

    /// What there is after a step, as if the ones before it had been run.
    void hold_what_is_kept(int64_t band) {
        live_ = stores_;
        for (size_t map = 0; map < graph_.size(); ++map) {
            const Range kept = schedule_.kept(band, map);
            chunks_[map].clear();
            kept_[map] = is_ring_[map] ? 0 : bytes_of(map, kept);
            live_ += in_own_tensor(kept_[map]);
            for (int64_t made = band; is_ring_[map] && made >= 0; --made) {
                const Range rows = schedule_.made(made, map);
                if (rows.end <= kept.begin) break;
                chunks_[map].push_front({rows, in_own_tensor(bytes_of(map, rows))});
                live_ += chunks_[map].front().bytes;
            }
        }
    }

    [[nodiscard]] int64_t bytes_of_stores() const {
        const std::vector<int64_t> rows = rows_stored(schedule_);
        const int64_t places = places_of_chunks(schedule_);
        int64_t bytes = 0;
        for (size_t map = 0; map < graph_.size(); ++map)
            bytes += (is_ring_[map] ? places : 1) * bytes_of(map, {0, rows[map]});
        return bytes;
    }

    /// Returns `bytes` of rows that stay from step to step, or 0 where these lie in a store.
    [[nodiscard]] int64_t in_own_tensor(int64_t bytes) const { return row_memory_ == RowMemory::own ? bytes : 0; }

    [[nodiscard]] int64_t bytes_of(size_t map, const Range& rows) const {
        const Piece piece = piece_of_rows(graph_, map, rows, schedule_.shape().image.w);
        return piece.pixels() * graph_.shape(map).channels * path_.value_bytes;
    }

    void take(int64_t bytes) {
        live_ += bytes;
        peak_ = std::max(peak_, live_);
    }

    void run(int64_t band, size_t s) {
        const Step& step = memory_.steps[s];
        if (schedule_.made(band, step.last).size() > 0) make(band, step);
        for (const size_t map : maps_read(graph_, step))
            if (last_readers_[map] == s) retire(band, map);
        if (step.last != graph_.output()) store(band, step.last);
    }

    void make(int64_t band, const Step& step) {
        PieceStep piece = band_piece(schedule_, band, step);
        int64_t scratch = piece.copies ? copied_bytes(graph_, piece, 1, path_) : 0;
        for (size_t i = 0; i < piece.maps.size(); ++i) scratch += joined_bytes(piece.maps[i], piece.read[i].rows);
        take(scratch);
        auto overwritten = map_overwritten(graph_, memory_, step);
        if (overwritten && is_ring_[*overwritten]) overwritten.reset();
        if (overwritten) keep(band, *overwritten);
        const size_t first = piece.maps.front();
        if (piece.gives_up_early(first) && is_last_reader(step, first) && !is_ring_[first]) retire(band, first);
        const bool is_written_out = step.last == graph_.output() && is_sum(graph_[step.last].kind);
        const int64_t result = overwritten || is_written_out ? 0 : bytes_of(step.last, piece.made.rows);
        piece.overwritten = overwritten;
        const int64_t kernel = kernel_bytes(graph_, piece, 1, path_);
        take(kernel + result);
        live_ -= scratch + kernel;
        if (step.last == graph_.output())
            live_ -= result;
        else
            maps_[step.last] = overwritten ? std::exchange(maps_[*overwritten], 0) : result;
    }

    [[nodiscard]] bool is_last_reader(const Step& step, size_t map) const {
        return memory_.steps[last_readers_[map]] == step;
    }

    /// The copy that joins rows of a ring from several chunks.
    [[nodiscard]] int64_t joined_bytes(size_t map, const Range& rows) const {
        if (!is_ring_[map]) return 0;
        const bool in_one = std::ranges::any_of(chunks_[map], [&](const Chunk& chunk) {
            return chunk.rows.begin <= rows.begin && rows.end <= chunk.rows.end;
        });
        return in_one ? 0 : bytes_of(map, rows);
    }

    /// The rows that are made and those kept before, as one tensor or as chunks.
    void store(int64_t band, size_t map) {
        const Range made = schedule_.made(band, map);
        if (is_ring_[map]) {
            if (made.size() > 0) add_chunk(map, made);
        } else if (kept_[map] > 0 && made.size() > 0) {
            const int64_t held = bytes_of(map, schedule_.held(band, map));
            take(held);
            live_ -= in_own_tensor(std::exchange(kept_[map], 0)) + std::exchange(maps_[map], held);
        } else if (kept_[map] > 0) {
            maps_[map] = std::exchange(kept_[map], 0);
            take(maps_[map] - in_own_tensor(maps_[map]));  // a copy, out of the store
        }
    }

    /// Those of the input are copied, since they are the caller's.
    void add_chunk(size_t map, const Range& made) {
        if (map == 0) take(maps_[map] = in_own_tensor(bytes_of(map, made)));
        const int64_t bytes = std::exchange(maps_[map], 0);
        live_ -= bytes - in_own_tensor(bytes);
        chunks_[map].push_back({made, in_own_tensor(bytes)});
    }

    /// Copies the rows that later bands need.
    void keep(int64_t band, size_t map) {
        is_kept_[map] = true;
        kept_[map] = bytes_of(map, schedule_.kept(band, map));
        take(in_own_tensor(kept_[map]));
    }

    void retire(int64_t band, size_t map) {
        if (is_ring_[map]) {
            auto& chunks = chunks_[map];
            while (!chunks.empty() && chunks.front().rows.end <= schedule_.kept(band, map).begin) {
                live_ -= chunks.front().bytes;
                chunks.pop_front();
            }
            return;
        }
        if (!is_kept_[map]) keep(band, map);
        live_ -= std::exchange(maps_[map], 0);
    }

    const Graph& graph_;
    const BandSchedule& schedule_;
    const MemoryPath& path_;
    RowMemory row_memory_;
    MemoryPlan memory_;
    std::vector<size_t> last_readers_;
    std::vector<bool> is_ring_;
    std::vector<int64_t> maps_, kept_;  // bytes, by operation
    std::vector<bool> is_kept_;         // in this step already
    std::vector<std::deque<Chunk>> chunks_;
    int64_t stores_;  // bytes that are there always
    int64_t live_, peak_;
};

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

std::vector<bool> rings_of(const BandSchedule& schedule) {
    std::vector<bool> rings(schedule.graph().size());
    for (size_t map = 0; map < rings.size(); ++map)
        rings[map] = schedule.most(&BandSchedule::kept, map) > schedule.most(&BandSchedule::made, map);
    return rings;
}

PieceStep band_piece(const BandSchedule& schedule, int64_t band, const Step& step) {
    const Graph& graph = schedule.graph();
    const Extent image = schedule.shape().image;
    const Piece made = piece_of_rows(graph, step.last, schedule.made(band, step.last), image.w);
    return piece_step(graph, step, made, image);
}

std::vector<int64_t> rows_stored(const BandSchedule& schedule) {
    const std::vector<bool> rings = rings_of(schedule);
    std::vector<int64_t> rows(rings.size());
    for (size_t map = 0; map < rows.size(); ++map)
        rows[map] = schedule.most(rings[map] ? &BandSchedule::made : &BandSchedule::kept, map);
    return rows;
}

int64_t peak_of_bands(const BandSchedule& schedule, const MemoryPath& path, RowMemory memory) {
    return BandCounter(schedule, path, memory).peak();
}

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
