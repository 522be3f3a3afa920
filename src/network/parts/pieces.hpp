// What each step of the engine torch does in a call that computes pieces of its maps: rectangles of rows and columns.
// The engine goes through it, and the plan adds up the memory that it takes. Pure arithmetic.
//
// Note [Pieces]: a step reads its pieces with the neighbours that they have in the map. Zeros are added only where the
// border of the window is; oneDNN can do so on both sides of an axis or on none, so a piece that reaches one border of
// two is copied into a larger one with zeros. After a step, what later steps need of a map that it read is copied out
// and the rest is given up: then a sum can overwrite exactly the pixels that it reads.
#pragma once

#include "network/receptive_field.hpp"

#include <optional>
#include <vector>

namespace pb::network {

/// A rectangle of a map.
struct Piece {
    Range rows, columns;

    [[nodiscard]] int64_t pixels() const { return rows.size() * columns.size(); }
    friend bool operator==(const Piece&, const Piece&) = default;
};

/// Rows `rows` of the map of `operation`, over all columns of an input of `width` pixels.
[[nodiscard]] Piece piece_of_rows(const Graph& graph, size_t operation, const Range& rows, int64_t width);

/// Zeros beside what a convolution reads along one axis.
struct Zeros {
    int64_t before = 0, after = 0;  // that are copied beside it
    int64_t padding = 0;            // on both sides, by the convolution itself
};

struct PieceStep {
    Step step;
    Piece made;
    std::vector<size_t> maps;  // that it reads, as of maps_read()
    std::vector<Piece> read;   // of each of them
    Zeros zeros_in_rows, zeros_in_columns;
    std::optional<size_t> overwritten;           // the map whose piece becomes the result
    std::vector<size_t> released;                // maps that no later step reads
    std::vector<std::pair<size_t, Piece>> kept;  // what later steps need of other maps, where that is less than all
    std::optional<Piece> widened;                // the larger piece into which the result is copied
    bool copies = false;  // what a convolution reads: with zeros beside it, or because its map is larger

    /// Whether `map` is released, or cut to what is kept, before the step computes: where it works on a copy.
    [[nodiscard]] bool gives_up_early(size_t map) const {
        return copies && map == maps.front() && (maps.size() == 1 || map != maps.back());
    }

    [[nodiscard]] bool adds_zeros() const {
        return zeros_in_rows.before + zeros_in_rows.after + zeros_in_columns.before + zeros_in_columns.after > 0;
    }
};

/// What `step` reads for the piece `made`, of a window of extent `window`; without what happens to maps.
[[nodiscard]] PieceStep piece_step(const Graph& graph, const Step& step, const Piece& made, Extent window);

/// The steps of a call that makes the pieces `rows[i]` x `columns[i]` of the maps, by operation (computed_ranges, unit
/// pixel), of a window of extent `window`. The input is the caller's: all of it is there.
[[nodiscard]] std::vector<PieceStep> piece_steps(const Graph& graph, const std::vector<Range>& rows,
                                                 const std::vector<Range>& columns, Extent window);

/// Bytes that a step on `n` windows needs only while it runs: of its kernel, with a layer's result that is then added
/// to a map, and of the copy of what it reads.
[[nodiscard]] int64_t kernel_bytes(const Graph& graph, const PieceStep& step, int64_t n, const MemoryPath& path);
[[nodiscard]] int64_t copied_bytes(const Graph& graph, const PieceStep& step, int64_t n, const MemoryPath& path);

/// Bytes that such a call on one window copies, which a call that computes whole maps does not: with zeros beside them,
/// out of larger maps, and of what is kept.
[[nodiscard]] int64_t bytes_copied_beside(const Graph& graph, const std::vector<PieceStep>& steps,
                                          const MemoryPath& path);

/// Bytes of the maps and of copies of kernels at the peak of such a call on `n` windows.
[[nodiscard]] int64_t peak_of_pieces(const Graph& graph, const std::vector<PieceStep>& steps, int64_t n,
                                     const MemoryPath& path);

}  // namespace pb::network
