#include "network/parts/pieces.hpp"

#include "base/mapped.hpp"

#include <algorithm>
#include <utility>

namespace pb::network {

namespace {

void extend(Piece& piece, const Piece& other) {
    include(piece.rows, other.rows);
    include(piece.columns, other.columns);
}

/// `read` may reach beyond a map of `length` pixels; `made`: pixels of the result.
Zeros zeros_beside(const Operation& operation, const Range& read, int64_t length, int64_t made) {
    const Filter& filter = *operation.filter;
    Zeros zeros{.before = std::max<int64_t>(0, -read.begin), .after = std::max<int64_t>(0, read.end - length)};
    const int64_t there = read.size() - zeros.before - zeros.after;
    const auto pixels_with = [&](int64_t padding) { return (there + 2 * padding - filter.kernel) / filter.stride + 1; };
    if (zeros.after <= zeros.before && pixels_with(zeros.before) == made)
        zeros = {.before = 0, .after = 0, .padding = zeros.before};
    return zeros;
}

class PiecePlanner {
  public:
    PiecePlanner(const Graph& graph, const std::vector<Range>& rows, const std::vector<Range>& columns, Extent window)
        : graph_(graph),
          rows_(rows),
          columns_(columns),
          window_(window),
          memory_(plan_memory(graph, kOnednnPath)),
          held_(graph.size()) {}

    std::vector<PieceStep> run() {
        std::vector<PieceStep> steps = mapped(memory_.steps, [this](const Step& step) {
            return piece_step(graph_, step, {rows_[step.last], columns_[step.last]}, window_);
        });
        const auto needed = needed_after(steps);
        held_.front() = {{0, window_.h}, {0, window_.w}};
        for (size_t s = 0; s < steps.size(); ++s) {
            const bool convolves = is_convolution(graph_[steps[s].step.first].kind);
            if (convolves && steps[s].read.front() != held_[steps[s].maps.front()]) steps[s].copies = true;
            set_overwritten(steps[s]);
            held_[steps[s].step.last] = steps[s].made;
            set_kept(steps[s], needed[s]);
        }
        return steps;
    }

  private:
    using Pieces = std::vector<Piece>;  // by operation

    /// By step and operation, what later steps read; no pixels where none does.
    [[nodiscard]] std::vector<Pieces> needed_after(const std::vector<PieceStep>& steps) const {
        std::vector<Pieces> needed(steps.size());
        Pieces later(graph_.size());
        for (size_t s = steps.size(); s-- > 0;) {
            needed[s] = later;
            for (size_t i = 0; i < steps[s].maps.size(); ++i) extend(later[steps[s].maps[i]], steps[s].read[i]);
        }
        return needed;
    }

    void set_overwritten(PieceStep& step) const {
        const auto overwritten = map_overwritten(graph_, memory_, step.step);
        if (overwritten && held_[*overwritten] == step.made) step.overwritten = overwritten;
    }

    void set_kept(PieceStep& step, const Pieces& needed) {
        for (const size_t map : step.maps) {
            if (map == 0 || std::ranges::count(step.released, map) > 0) continue;
            if (needed[map].pixels() == 0)
                step.released.push_back(map);
            else if (needed[map] != held_[map])
                step.kept.emplace_back(map, held_[map] = needed[map]);
        }
    }

    const Graph& graph_;
    const std::vector<Range>&rows_, &columns_;
    Extent window_;
    MemoryPlan memory_;
    Pieces held_;
};

int64_t bytes_of_piece(const Graph& graph, size_t map, const Piece& piece, int64_t n, const MemoryPath& path) {
    return n * piece.pixels() * graph.shape(map).channels * path.value_bytes;
}

/// The copy of what a convolution reads, with zeros beside it.
Piece copied_piece(const PieceStep& step) {
    const auto &rows = step.zeros_in_rows, &columns = step.zeros_in_columns;
    const Piece& read = step.read.front();
    return {{-rows.before, read.rows.size() + rows.after}, {-columns.before, read.columns.size() + columns.after}};
}

class PieceCounter {
  public:
    PieceCounter(const Graph& graph, int64_t n, const MemoryPath& path)
        : graph_(graph), n_(n), path_(path), bytes_(graph.size()) {}

    void run(const PieceStep& step) {
        const size_t made = step.step.last;
        const bool is_written_out = made == graph_.output() && is_sum(graph_[made].kind);
        const int64_t result = step.overwritten || is_written_out ? 0 : bytes_of(made, step.made);
        const int64_t copy = step.copies ? copied_bytes(graph_, step, n_, path_) : 0;
        take(copy);
        give_up(step, true);
        take(result + kernel_bytes(graph_, step, n_, path_));
        live_ -= copy + result + kernel_bytes(graph_, step, n_, path_);
        if (step.overwritten)
            bytes_[made] = std::exchange(bytes_[*step.overwritten], 0);
        else
            hold(made, result);
        give_up(step, false);
        if (step.widened) replace(made, *step.widened);
    }

    [[nodiscard]] int64_t peak() const { return peak_; }

  private:
    [[nodiscard]] int64_t bytes_of(size_t map, const Piece& piece) const {
        return bytes_of_piece(graph_, map, piece, n_, path_);
    }

    void take(int64_t bytes) {
        live_ += bytes;
        peak_ = std::max(peak_, live_);
    }

    void give_up(const PieceStep& step, bool early) {
        for (const size_t map : step.released)
            if (step.gives_up_early(map) == early) hold(map, 0);
        for (const auto& [map, piece] : step.kept)
            if (step.gives_up_early(map) == early) replace(map, piece);
    }

    /// The map by a copy of `piece`.
    void replace(size_t map, const Piece& piece) {
        const int64_t bytes = bytes_of(map, piece);
        take(bytes);
        live_ -= bytes;
        hold(map, bytes);
    }

    void hold(size_t map, int64_t bytes) { live_ += bytes - std::exchange(bytes_[map], bytes); }

    const Graph& graph_;
    int64_t n_;  // windows
    const MemoryPath& path_;
    std::vector<int64_t> bytes_;  // that are held, by operation
    int64_t live_ = 0, peak_ = 0;
};

}  // namespace

Piece piece_of_rows(const Graph& graph, size_t operation, const Range& rows, int64_t width) {
    return {rows, {0, width / graph.shape(operation).scale}};
}

PieceStep piece_step(const Graph& graph, const Step& step, const Piece& made, Extent window) {
    const Operation& operation = graph[step.first];
    PieceStep result;
    result.step = step;
    result.made = made;
    result.maps = maps_read(graph, step);
    const Range rows = pixels_read(operation, made.rows), columns = pixels_read(operation, made.columns);
    for (const size_t map : operation.operands)
        result.read.push_back({within_map(graph, map, rows, window.h), within_map(graph, map, columns, window.w)});
    if (map_summed(graph, step)) result.read.push_back(made);
    if (operation.kind != OperationKind::convolution) return result;
    const int64_t scale = graph.shape(operation.operands.front()).scale;
    result.zeros_in_rows = zeros_beside(operation, rows, window.h / scale, made.rows.size());
    result.zeros_in_columns = zeros_beside(operation, columns, window.w / scale, made.columns.size());
    result.copies = result.adds_zeros();
    return result;
}

std::vector<PieceStep> piece_steps(const Graph& graph, const std::vector<Range>& rows,
                                   const std::vector<Range>& columns, Extent window) {
    return PiecePlanner(graph, rows, columns, window).run();
}

int64_t kernel_bytes(const Graph& graph, const PieceStep& step, int64_t n, const MemoryPath& path) {
    const size_t first = step.step.first;
    if (!is_convolution(graph[first].kind)) return 0;
    const TensorShapes shapes = tensor_shapes(graph, first);
    const int64_t taps = shapes.transposed && path.transposes_by_taps ? 4 : 1;
    int64_t bytes = path.copies_kernels ? shapes.weight_values() * path.value_bytes / taps : 0;
    const int64_t result = bytes_of_piece(graph, step.step.last, step.made, n, path);
    if (taps > 1) bytes += result / taps;
    if (path.sums_after_layer && step.overwritten && map_summed(graph, step.step)) bytes += result;
    return bytes;
}

int64_t copied_bytes(const Graph& graph, const PieceStep& step, int64_t n, const MemoryPath& path) {
    return bytes_of_piece(graph, step.maps.front(), copied_piece(step), n, path);
}

int64_t bytes_copied_beside(const Graph& graph, const std::vector<PieceStep>& steps, const MemoryPath& path) {
    int64_t bytes = 0;
    for (const PieceStep& step : steps) {
        if (step.copies) bytes += copied_bytes(graph, step, 1, path);
        for (const auto& [map, piece] : step.kept) bytes += bytes_of_piece(graph, map, piece, 1, path);
    }
    return bytes;
}

int64_t peak_of_pieces(const Graph& graph, const std::vector<PieceStep>& steps, int64_t n, const MemoryPath& path) {
    PieceCounter counter(graph, n, path);
    for (const PieceStep& step : steps) counter.run(step);
    return counter.peak();
}

}  // namespace pb::network
