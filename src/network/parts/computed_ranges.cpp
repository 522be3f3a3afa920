#include "network/parts/computed_ranges.hpp"

#include "network/receptive_field.hpp"

#include <algorithm>

namespace pb::network {

namespace {

static_assert((kWinogradTile & (kWinogradTile - 1)) == 0);

/// Rounds negative numbers outwards, too. `unit`: a power of two.
Range whole(const Range& range, int64_t unit) {
    const int64_t mask = unit - 1;
    return {range.begin & ~mask, (range.end + mask) & ~mask};
}

bool doubles(OperationKind kind) {
    return kind == OperationKind::transposed_convolution || kind == OperationKind::upsample;
}

/// Pixels of the map of `step` that are computed together.
int64_t pixels_together(const Graph& graph, const Step& step, ComputedUnit unit) {
    if (unit == ComputedUnit::tile) return uses_winograd(graph, step.first) ? kWinogradTile : 1;
    return doubles(graph[step.first].kind) ? 2 : 1;
}

}  // namespace

std::vector<Range> computed_ranges(const Graph& graph, Range output, ComputedUnit unit) {
    const std::vector<Step> steps = steps_of(graph, {});  // the range of a concatenation is that of its operands
    std::vector<Range> ranges(graph.size());
    ranges.back() = output;
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {  // every reader of a map comes after it
        Range& made = ranges[step->last];
        made = whole(made, pixels_together(graph, *step, unit));
        ranges[step->first] = made;
        if (const auto other = map_summed(graph, *step)) include(ranges[*other], made);
        const Range read = pixels_read(graph[step->first], made);
        for (const size_t operand : graph[step->first].operands) include(ranges[operand], read);
    }
    return ranges;
}

Range within_map(const Graph& graph, size_t operation, const Range& range, int64_t extent) {
    const int64_t length = extent / graph.shape(operation).scale;
    return {std::clamp<int64_t>(range.begin, 0, length), std::clamp<int64_t>(range.end, 0, length)};
}

std::vector<Range> computed_ranges(const Graph& graph, Range output, int64_t extent, ComputedUnit unit) {
    std::vector<Range> ranges = computed_ranges(graph, output, unit);
    for (size_t i = 0; i < ranges.size(); ++i) ranges[i] = within_map(graph, i, ranges[i], extent);
    return ranges;
}

double macs_of(const Graph& graph, const std::vector<Range>& rows, int64_t width) {
    double macs = 0;
    for (const size_t i : convolutions_of(graph)) {
        const MapShape& shape = graph.shape(i);
        const int64_t values = rows[i].size() * (width / shape.scale) * shape.channels;
        macs += static_cast<double>(values) * static_cast<double>(tensor_shapes(graph, i).fan_in());
    }
    return macs;
}

}  // namespace pb::network
