#include "network/parts/window_crop.hpp"

#include "network/receptive_field.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::network {

namespace {

using Axis = WindowCrop::Axis;

const Axis* find_axis(const std::vector<Axis>& axes, const Range& core) {
    const auto found = std::ranges::find(axes, core, &Axis::core);
    return found == axes.end() ? nullptr : &*found;
}

const Axis& axis_at(const std::vector<Axis>& axes, const Range& core) {
    const Axis* axis = find_axis(axes, core);
    require(axis != nullptr, fmt::format("a core of pixels {} to {} that no window has", core.begin, core.end));
    return *axis;
}

void include_axes(std::vector<Axis>& axes, const std::vector<Axis>& others) {
    for (const Axis& other : others)
        if (find_axis(axes, other.core) == nullptr) axes.push_back(other);
}

int64_t most_held(const std::vector<Axis>& axes, size_t operation) {
    int64_t most = 0;
    for (const Axis& axis : axes) most = std::max(most, axis.held[operation].size());
    return most;
}

/// The kernel of a transposed convolution makes two pixels of a row together.
Range whole_pairs(const Range& range) { return {range.begin / 2 * 2, round_up(range.end, 2)}; }

}  // namespace

Range alike_from(int64_t begin, std::span<const Rect> cores) {
    const auto first = cores.begin() + begin;
    const auto end = std::find_if(first, cores.end(), [&](const Rect& core) { return core != *first; });
    return {begin, end - cores.begin()};
}

WindowCrop::WindowCrop(const Graph& graph, Extent window, const std::vector<Range>& row_cores,
                       const std::vector<Range>& column_cores, const CropEngine& engine)
    : graph_(graph),
      engine_(engine),
      window_(window),
      memory_(plan_memory(graph, engine.path)),
      macs_per_pixel_(graph.size()) {
    for (const size_t i : convolutions_of(graph))
        macs_per_pixel_[i] = static_cast<double>(graph.shape(i).channels * tensor_shapes(graph, i).fan_in());
    for (const Range& core : row_cores) include_axes(rows_, {axis_of(core, window.h)});
    for (const Range& core : column_cores) include_axes(columns_, {axis_of(core, window.w)});
}

Axis WindowCrop::axis_of(const Range& core, int64_t extent) const {
    Axis axis{.core = core, .made = computed_ranges(graph_, core, extent, engine_.unit), .held = {}};
    for (size_t i = 0; i < graph_.size(); ++i)
        if (graph_[i].kind == OperationKind::transposed_convolution) axis.made[i] = whole_pairs(axis.made[i]);
    std::vector<Range> of_block(memory_.blocks.size());
    for (size_t i = 0; i < graph_.size(); ++i)
        if (const auto block = memory_.block_of[i]) network::include(of_block[*block], axis.made[i]);
    axis.held = axis.made;
    for (size_t i = 0; i < graph_.size(); ++i)
        if (const auto block = memory_.block_of[i]) axis.held[i] = of_block[*block];
    return axis;
}

void WindowCrop::include(const WindowCrop& other) {
    require(window_ == other.window_ && graph_ == other.graph_ && engine_.unit == other.engine_.unit,
            "crops of different windows");
    include_axes(rows_, other.rows_);
    include_axes(columns_, other.columns_);
}

const Axis& WindowCrop::rows_of(const Rect& core) const { return axis_at(rows_, {core.row, core.row + core.extent.h}); }

const Axis& WindowCrop::columns_of(const Rect& core) const {
    return axis_at(columns_, {core.column, core.column + core.extent.w});
}

double WindowCrop::macs(const Rect& core) const {
    const Axis &rows = rows_of(core), &columns = columns_of(core);
    double macs = 0;
    for (size_t i = 0; i < macs_per_pixel_.size(); ++i)
        macs += macs_per_pixel_[i] * static_cast<double>(rows.made[i].size() * columns.made[i].size());
    return macs;
}

Arena WindowCrop::place(int64_t n) const {
    MemoryPlan plan = memory_;
    for (MemoryBlock& block : plan.blocks) block.size = {};
    for (size_t i = 0; i < graph_.size(); ++i) {
        if (!plan.block_of[i]) continue;
        const int64_t values = n * most_held(rows_, i) * most_held(columns_, i) * graph_.shape(i).channels;
        int64_t& bytes = plan.blocks[*plan.block_of[i]].size.fixed_bytes;
        bytes = std::max(bytes, values * engine_.path.value_bytes);
    }
    return place_blocks(plan, 0);
}

std::vector<PieceStep> WindowCrop::steps_for(const Rect& core) const {
    require(engine_.unit == ComputedUnit::pixel, "pieces of an engine that computes tiles");
    return piece_steps(graph_, rows_of(core).made, columns_of(core).made, window_);
}

int64_t WindowCrop::copied_bytes(const Rect& core) const {
    return bytes_copied_beside(graph_, steps_for(core), engine_.path);
}

int64_t WindowCrop::peak_bytes(const Rect& core, int64_t n) const {
    if (engine_.unit == ComputedUnit::tile) return place(n).bytes;
    return peak_of_pieces(graph_, steps_for(core), n, engine_.path);
}

int64_t WindowCrop::peak_bytes(int64_t n) const {
    if (engine_.unit == ComputedUnit::tile) return place(n).bytes;
    int64_t most = 0;
    for (const Axis& rows : rows_)
        for (const Axis& columns : columns_) most = std::max(most, peak_bytes(rect_of(rows.core, columns.core), n));
    return most;
}

}  // namespace pb::network
