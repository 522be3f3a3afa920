#include "network/receptive_field.hpp"

#include <algorithm>

namespace pb::network {

namespace {

constexpr int64_t half_down(int64_t a) { return a >> 1; }  // rounds negative numbers down, too
constexpr int64_t half_up(int64_t a) { return (a + 1) >> 1; }

/// Pixels beyond `output` that it depends on, on the side where there are more.
int64_t reach_beyond(const Graph& graph, const Range& output) {
    const Range seen = required_ranges(graph, output).front();
    return std::max(output.begin - seen.begin, seen.end - output.end);
}

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

void include(Range& range, const Range& other) {
    range = range.size() == 0 ? other : Range{std::min(range.begin, other.begin), std::max(range.end, other.end)};
}

Range pixels_read(const Operation& operation, const Range& made) {
    switch (operation.kind) {
        case OperationKind::convolution: {
            const Filter& filter = *operation.filter;
            const int64_t first = made.begin * filter.stride - filter.padding();
            return {first, first + (made.size() - 1) * filter.stride + filter.kernel};
        }
        case OperationKind::transposed_convolution:  // each output pixel has one source
        case OperationKind::upsample: return {half_down(made.begin), half_up(made.end)};
        case OperationKind::max_pool: return {2 * made.begin, 2 * made.end};
        default: return made;
    }
}

std::vector<Range> required_ranges(const Graph& graph, Range output) {
    std::vector<Range> required(graph.size());
    required.back() = output;
    for (size_t i = graph.size(); i-- > 0;)  // every reader of a map comes after it
        for (const size_t operand : graph[i].operands) include(required[operand], pixels_read(graph[i], required[i]));
    return required;
}

int64_t alignment_of(const Graph& graph) {
    // Scales are powers of two: the largest is a multiple of all others.
    return std::ranges::max(graph.shapes(), {}, &MapShape::scale).scale;
}

int64_t receptive_radius_of(const Graph& graph) {
    int64_t radius = 0;
    for (int64_t place = 0; place < alignment_of(graph); ++place)
        radius = std::max(radius, reach_beyond(graph, {place, place + 1}));
    return radius;
}

int64_t exact_halo_of(const Graph& graph) {
    const int64_t alignment = alignment_of(graph);
    return round_up(reach_beyond(graph, {0, alignment}), alignment);
}

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
