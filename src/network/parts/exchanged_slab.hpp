// One image in slabs of rows, one for each rank: the rows that a slab owns of each map, and the border rows that travel
// between neighbours. Pure arithmetic.
//
// Note [Exchanged rows]: every slab computes its own rows of every map, layer by layer. Before a layer that reads rows
// beside its own, the neighbours have sent those rows, which they own. Nothing is computed twice. The borders of slabs
// are multiples of slab_unit(), so that every tile of Winograd's method lies in one slab, and lies where it lies in the
// whole image: the output has the bits of the whole image's. No layer reads more than one row beside its own, and a
// slab has at least one row of each map, so rows travel between direct neighbours only.
#pragma once

#include "network/native_layout.hpp"
#include "network/parts/pieces.hpp"
#include "network/receptive_field.hpp"

#include <algorithm>
#include <array>

namespace pb::network {

/// Rows of the image of which the borders of slabs are multiples: those of a tile where the scale is coarsest.
[[nodiscard]] int64_t slab_unit(const Graph& graph);

/// The maps whose border rows travel, in the order in which they are made. The input does not: every rank can read it.
/// `unit`: of the engine.
[[nodiscard]] std::vector<size_t> travelling_maps(const Graph& graph, ComputedUnit unit = ComputedUnit::tile);

struct SlabShape {
    Range rows;                                     // of the image, that the slab owns
    Range above;                                    // those of the slab above; no rows: this is the first slab
    Range below;                                    // those of the slab below; no rows: this is the last slab
    Extent image;                                   // multiples of the alignment
    int64_t value_bytes = kNativePath.value_bytes;  // of maps
    ComputedUnit unit = ComputedUnit::tile;

    friend bool operator==(const SlabShape&, const SlabShape&) = default;
};

enum class Side : uint8_t { above, below };
inline constexpr std::array kSides{Side::above, Side::below};

/// What one slab sends and receives in a pass.
struct SlabTraffic {
    int64_t messages = 0;  // sent to both neighbours; as many are received
    int64_t bytes = 0;     // of all of them
    int64_t largest = 0;   // bytes of one message
};

class ExchangedSlab {
  public:
    /// Throws Error where the slabs do not lie side by side, or do not begin on multiples of slab_unit().
    ExchangedSlab(const Graph& graph, const SlabShape& shape);

    [[nodiscard]] const SlabShape& shape() const { return shape_; }

    /// Rows of an operation's map, from its top. `owned`: computed here; of the output, those that the slab makes.
    [[nodiscard]] Range owned(size_t operation) const { return owned_[operation]; }
    /// Those and the border rows that its readers need: of operation 0 the rows of the input to take.
    [[nodiscard]] Range held(size_t operation) const { return held_[operation]; }
    /// The border rows that come from a neighbour, and those that it needs. No rows where there is no neighbour.
    [[nodiscard]] Range received(size_t operation, Side from) const;
    [[nodiscard]] Range sent(size_t operation, Side to) const;

    /// See travelling_maps().
    [[nodiscard]] const std::vector<size_t>& travelling() const { return travelling_; }
    [[nodiscard]] bool travels(size_t operation) const { return std::ranges::binary_search(travelling_, operation); }
    [[nodiscard]] bool has_neighbour(Side side) const;
    [[nodiscard]] int64_t row_bytes(size_t operation) const { return row_bytes_[operation]; }
    [[nodiscard]] SlabTraffic traffic() const;

  private:
    void check_shape(const Graph& graph) const;

    SlabShape shape_;
    std::vector<size_t> travelling_;
    std::vector<Range> owned_, held_, held_above_, held_below_;
    std::vector<int64_t> row_bytes_;
};

/// Where the rows of a slab lie in memory, with room for the border rows of its neighbours: all in one arena of a size
/// that is known before anything runs.
struct ExchangedMemory {
    /// By operation, the rows that its memory has room for: at least those that the slab holds. Maps that share memory,
    /// because one overwrites the other, have the same rows.
    std::vector<Range> rows;
    std::vector<std::optional<size_t>> block_of;  // by operation; none: the caller's memory, or nothing is stored
    Arena arena;
};

/// Maps share memory as in a forward call on the whole image (plan_memory).
[[nodiscard]] ExchangedMemory plan_exchanged(const Graph& graph, const ExchangedSlab& slab);

/// The steps of a slab in the engine torch, which has a tensor for each map instead of an arena. The engine
/// (engine/torch/passes.hpp) goes through them, and peak_of_pieces() adds up the memory they take. Each step makes the
/// rows that the slab owns; the result of a step whose rows travel is copied into a map with room for border rows.
[[nodiscard]] std::vector<PieceStep> slab_steps(const Graph& graph, const ExchangedSlab& slab);

}  // namespace pb::network
