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
        case OperationKind::upsample:
            return {half_down(made.begin), half_up(made.end)};
        case OperationKind::max_pool:
            return {2 * made.begin, 2 * made.end};
        default:
            return made;
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

}  // namespace pb::network
