// Carried rows: what each step computes of an image that goes through a network in row bands, the rows that stay for
// later steps, the second copy of a map with which fewer stay, and where the rows lie in memory. Pure arithmetic.
#pragma once

#include "network/native_layout.hpp"
#include "network/receptive_field.hpp"

#include "patchbench/network/graph.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

namespace pb::network {

// Note [Late maps]: DRUNet's first convolution makes 64 channels of 4, and its last one reads them again: with carried
// rows 185 rows of them wait for all layers between. Where the rows of the input wait instead, and the convolution is
// computed again when its rows are read, these are 4 channels. The kernel and the rows are the same, so native gets the
// same bits; torch adds the copy in the convolution itself, and gets the same values within rounding.

/// A network in which a map is made twice, so that carried rows take less memory.
struct LateGraph {
    Graph graph;
    std::vector<size_t> origin;  // by operation of `graph`: the operation of the network that it is
};

/// Without a late map: each operation is its own origin.
[[nodiscard]] LateGraph without_late_map(const Graph& graph);

/// With a second copy of the first convolution of the input that has more channels than it and several readers: before
/// the last of these, which reads the copy. None where there is no such convolution.
[[nodiscard]] std::optional<LateGraph> with_late_map(const Graph& graph);

// Note [Carried rows]: an image of any height goes through a network from top to bottom, and each row of each map is
// computed once. Step by step the output grows by one band. Each map is computed as far as the output needs it
// (receptive_field.hpp), as if the image had no end: the first steps take rows of the input and make no output, and
// most steps after them have the same shape. Rows that a reader needs again stay: a few of most maps, many of a map
// that is summed or concatenated with one that is made much later. Bands and ranks do not change the bits of native,
// because every tile lies where it lies in the whole image.

struct BandShape {
    Range rows;        // of the output
    int64_t band = 0;  // rows of the output that a step makes, a multiple of the alignment
    Extent image;      // of the input; multiples of the alignment
    ComputedUnit unit = ComputedUnit::tile;

    friend bool operator==(const BandShape&, const BandShape&) = default;
};

class BandSchedule {
  public:
    BandSchedule(const Graph& network, const BandShape& shape);
    /// `computed`: the network, with or without a late map.
    BandSchedule(const Graph& network, LateGraph computed, const BandShape& shape);

    /// Operations are those of this graph: the network's, or one with a late map.
    [[nodiscard]] const Graph& graph() const { return computed_graph_.graph; }
    /// By operation of graph(): which one of `network` it is. Throws Error for another network than the schedule's.
    [[nodiscard]] const std::vector<size_t>& origin_in(const Graph& network) const;
    [[nodiscard]] const BandShape& shape() const { return shape_; }
    [[nodiscard]] int64_t num_steps() const { return std::ssize(states_) - 1; }

    /// Rows of an operation's map that are computed in a step; of operation 0 the rows of the input that it takes, of
    /// the last operation those of the output that it makes.
    [[nodiscard]] Range made(int64_t step, size_t operation) const;
    /// Rows that are in memory during a step: those that it makes, and those kept from the steps before.
    [[nodiscard]] Range held(int64_t step, size_t operation) const;
    /// Rows that must be in memory after a step.
    [[nodiscard]] Range kept(int64_t step, size_t operation) const;

    /// Rows that all steps make of each map.
    [[nodiscard]] const std::vector<Range>& computed() const { return computed_; }
    /// The most rows of an operation in any step: `rows` is `&BandSchedule::made`, `held` or `kept`.
    [[nodiscard]] int64_t most(Range (BandSchedule::*rows)(int64_t, size_t) const, size_t operation) const;
    /// Rows of the input, at most, that a step takes.
    [[nodiscard]] int64_t most_input_rows() const { return most(&BandSchedule::made, 0); }
    /// Multiply-accumulates of all steps.
    [[nodiscard]] double macs() const { return macs_; }
    /// The arithmetic of all steps by that of a whole band of every map.
    [[nodiscard]] double whole_bands() const { return whole_bands_; }
    /// A step that computes most, in the middle of those that compute as much, and its part of a whole band of every
    /// map: less than 1 only in images of few bands.
    [[nodiscard]] int64_t busiest_step() const { return busiest_step_; }
    [[nodiscard]] double busiest_part() const { return busiest_part_; }

  private:
    /// After a step, by operation: the first row that is not made yet, and the first one that is still needed.
    struct State {
        std::vector<int64_t> made_end, kept_begin;
    };

    [[nodiscard]] State state_at(int64_t output_end) const;
    void release_rows(State& state) const;
    void count_macs();
    [[nodiscard]] const State& before(int64_t step) const { return states_[static_cast<size_t>(step)]; }
    [[nodiscard]] const State& after(int64_t step) const { return states_[static_cast<size_t>(step) + 1]; }

    Graph network_;
    LateGraph computed_graph_;
    BandShape shape_;
    std::vector<Range> computed_;
    std::vector<State> states_;  // the first one: before all steps
    double macs_ = 0, whole_bands_ = 0, busiest_part_ = 0;
    int64_t busiest_step_ = 0;
};

/// The schedule that takes fewest `bytes`: of the network as it is, or with a late map.
[[nodiscard]] BandSchedule smallest_schedule(const Graph& network, const BandShape& shape,
                                             const std::function<int64_t(const BandSchedule&)>& bytes);

// An image cut into strips of columns, each of which carries its rows by itself where bands of the whole width do not
// fit into memory. Pure arithmetic.
//
// Note [Strips]: a strip is computed as if its window were an image. The window has all columns that its core depends
// on, in whole tiles, and begins where tiles of each map begin in the whole image: so every tile that the core depends
// on lies where it lies there, and has its bits. What else the window has at its sides is wrong and is not used. All
// windows are equally wide, so that one schedule serves all; the last one ends where the image ends.

/// Columns of the padded image.
struct Strip {
    Range window, core;

    friend bool operator==(const Strip&, const Strip&) = default;
};

class StripCut {
  public:
    /// `width`: of the padded image.
    StripCut(const Graph& graph, int64_t width, ComputedUnit unit);

    /// 1 where the image is hardly wider than the context of a strip: then it cannot be cut.
    [[nodiscard]] int64_t most_strips() const { return std::max<int64_t>(1, steps_); }
    /// Columns of the narrowest window with which so many strips cover the image; fewer may do with it.
    [[nodiscard]] int64_t window_of(int64_t num_strips) const;
    /// From left to right. `window`: of window_of().
    [[nodiscard]] std::vector<Strip> strips(int64_t window) const;

  private:
    // Windows and cores begin on multiples of `unit_`. A window is as wide as the context and some more units: by so
    // many the next one begins further to the right.
    int64_t width_, unit_;
    int64_t before_ = 0;   // columns of context to the left of a core, in units
    int64_t context_ = 0;  // to both sides, in units, less what is left of a unit in the width of all windows
    int64_t steps_ = 0;    // units of the image beyond that
};

/// Memory of one map.
struct BandMap {
    /// Rows for which there is room. A ring keeps its rows from step to step: row y is at place y % places, and tiles
    /// lie whole in it. Another map lives in a part of a step: the first row that the step holds is at place 0.
    int64_t places = 0;
    int64_t row_bytes = 0;
    bool is_ring = false;
    std::optional<size_t> block;       // none: the output, which is the caller's
    std::optional<size_t> kept_block;  // of a store for rows that stay from step to step; none: nothing, or a ring
};

struct BandMemory {
    std::vector<BandMap> maps;  // by operation; without places where nothing is stored
    Arena arena;
};

/// A map whose kept rows are more than a step makes is a ring. Of all others, the kept rows are copied to a store of
/// their own, so that the maps of a step can share memory.
[[nodiscard]] BandMemory plan_bands(const BandSchedule& schedule);

}  // namespace pb::network
