// Against a computation that follows every pixel: a row of the input through all operations, each pixel of a map being
// the set of input pixels that it depends on.
#include "network/receptive_field.hpp"

#include "random_graph.hpp"
#include "support/graph_text.hpp"

#include "patchbench/network/network_shape.hpp"

#include <gtest/gtest.h>

#include <bitset>

namespace pb::network {
namespace {

constexpr int64_t kLength = 512;
using Pixels = std::bitset<kLength>;
using Row = std::vector<Pixels>;

/// The union over `taps` pixels of `x` from `first` on; outside it, padding depends on nothing.
Pixels union_of(const Row& x, int64_t first, int64_t taps) {
    Pixels pixels;
    for (int64_t i = std::max<int64_t>(0, first); i < std::min<int64_t>(first + taps, std::ssize(x)); ++i)
        pixels |= x[static_cast<size_t>(i)];
    return pixels;
}

Pixels pixel_of(const Operation& operation, const Row& x, int64_t i) {
    switch (operation.kind) {
        case OperationKind::convolution:
            return union_of(x, i * operation.filter->stride - (operation.filter->kernel == 3),
                            operation.filter->kernel);
        case OperationKind::max_pool: return union_of(x, 2 * i, 2);
        case OperationKind::upsample:
        case OperationKind::transposed_convolution: return x[static_cast<size_t>(i / 2)];
        default: return x[static_cast<size_t>(i)];
    }
}

Row output_row(const Graph& graph) {
    std::vector<Row> rows(graph.size());
    for (size_t i = 0; i < graph.size(); ++i) {
        rows[i].resize(static_cast<size_t>(kLength / graph.shape(i).scale));
        for (size_t p = 0; p < rows[i].size(); ++p) {
            if (i == 0) rows[i][p].set(p);
            for (const size_t operand : graph[i].operands)
                rows[i][p] |= pixel_of(graph[i], rows[operand], static_cast<int64_t>(p));
        }
    }
    return rows.back();
}

Range hull(const Pixels& pixels) {
    int64_t begin = 0, end = kLength;
    while (!pixels[static_cast<size_t>(begin)]) ++begin;
    while (!pixels[static_cast<size_t>(end - 1)]) --end;
    return {begin, end};
}

void expect_derived_field(const Graph& graph) {
    SCOPED_TRACE(to_text(graph));
    const int64_t alignment = alignment_of(graph), middle = kLength / 2;
    const Row row = output_row(graph);
    int64_t radius = 0;
    Pixels core;
    for (int64_t p = middle; p < middle + alignment; ++p) {
        const Pixels& pixels = row[static_cast<size_t>(p)];
        const Range seen = hull(pixels);
        EXPECT_EQ(required_ranges(graph, {p, p + 1}).front(), seen) << p;
        const int64_t q = p - middle;  // the same place on the grid, where the field begins before the origin
        EXPECT_EQ(required_ranges(graph, {q, q + 1}).front(), (Range{seen.begin - middle, seen.end - middle})) << q;
        radius = std::max({radius, p - seen.begin, seen.end - 1 - p});
        core |= pixels;
    }
    const Range seen = hull(core);
    ASSERT_TRUE(seen.begin > 0 && seen.end < kLength) << "the row is too short to say";
    EXPECT_EQ(receptive_radius_of(graph), radius);
    EXPECT_EQ(exact_halo_of(graph), round_up(std::max(middle - seen.begin, seen.end - middle - alignment), alignment));
}

TEST(ReceptiveField, OfTheNetworksIsWhatTheirPixelsDependOn) {
    for (const auto& [kind, name] : enum_table<NetworkKind>()) expect_derived_field(graph_of(standard_shape(kind, 1)));
}

// One of each network.
TEST(ReceptiveField, OfRelativesIsWhatTheirPixelsDependOn) {
    for (const int64_t blocks : {1, 2, 3})
        for (const size_t scales : {1, 2, 3})
            expect_derived_field(
                DrunetShape{.channels = 1, .widths = std::vector<int64_t>(scales, 2), .blocks = blocks}.graph());
    for (const size_t scales : {1, 2, 3, 5})
        expect_derived_field(UnetShape{.channels = 1, .widths = std::vector<int64_t>(scales, 2)}.graph());
    for (const int64_t depth : {2, 3, 9})
        expect_derived_field(DncnnShape{.channels = 1, .depth = depth, .width = 2}.graph());
}

TEST(ReceptiveField, OfAnyGraphIsWhatItsPixelsDependOn) {
    for (uint32_t seed = 0; seed < 300 && !HasFailure(); ++seed) expect_derived_field(test::RandomGraph(seed).make());
}

TEST(ReceptiveField, SaysWhatIsNeededOfEachMap) {
    const Graph graph = UnetShape{.channels = 1, .widths = {2, 2}}.graph();
    const std::vector<Range> required = required_ranges(graph, {8, 16});
    EXPECT_EQ(required[graph.output()], (Range{8, 16}));
    EXPECT_EQ(required[graph.output() - 1], (Range{8, 16}));  // a 1x1 convolution
    for (size_t i = 0; i < graph.size(); ++i) {
        if (graph[i].kind != OperationKind::upsample) continue;
        EXPECT_EQ(required[i], (Range{5, 19}));  // three convolutions
        EXPECT_EQ(required[graph[i].operands.front()], (Range{2, 10}));
    }
    EXPECT_EQ(required.front(), (Range{-2, 26}));
}

}  // namespace
}  // namespace pb::network
