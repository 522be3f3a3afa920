#include "network/computed_ranges.hpp"

#include "network/receptive_field.hpp"

#include <algorithm>

namespace pb::network {

namespace {

static_assert((kWinogradTile & (kWinogradTile - 1)) == 0);

/// Whole tiles; rounds negative numbers outwards, too.
Range whole_tiles(const Range& range) {
    constexpr int64_t kMask = kWinogradTile - 1;
    return {range.begin & ~kMask, (range.end + kMask) & ~kMask};
}

bool makes_tiles(const Graph& graph, const Step& step) {
    return is_convolution(graph[step.first].kind) &&
           native_convolution(graph, step.first).method() == NativeMethod::winograd;
}

}  // namespace

std::vector<Range> computed_ranges(const Graph& graph, Range output) {
    const std::vector<Step> steps = steps_of(graph, kNativePath.fusing);
    std::vector<Range> ranges(graph.size());
    ranges.back() = output;
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {  // every reader of a map comes after it
        Range& made = ranges[step->last];
        if (makes_tiles(graph, *step)) made = whole_tiles(made);
        ranges[step->first] = made;
        if (const auto other = map_summed(graph, *step)) include(ranges[*other], made);
        const Range read = pixels_read(graph[step->first], made);
        for (const size_t operand : graph[step->first].operands) include(ranges[operand], read);
    }
    return ranges;
}

std::vector<Range> computed_ranges(const Graph& graph, Range output, int64_t extent) {
    std::vector<Range> ranges = computed_ranges(graph, output);
    for (size_t i = 0; i < ranges.size(); ++i) {
        const int64_t length = extent / graph.shape(i).scale;
        ranges[i] = {std::clamp<int64_t>(ranges[i].begin, 0, length), std::clamp<int64_t>(ranges[i].end, 0, length)};
    }
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
