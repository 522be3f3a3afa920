#include "plan/plan.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/base/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace pb::plan {

namespace {

// Constants of DRUNet's own rule: deepinv 0.5.0 `DRUNet.forward`, `test_pad` and `test_onesplit` (from DPIR).
constexpr int64_t kSmallestDirect = 32;
constexpr int64_t kSmallestSplit = 64;
constexpr int64_t kSmallModulo = 16;
constexpr int64_t kQuadrantModulo = 64;

bool is_aligned(Extent extent, int64_t alignment) { return extent.h % alignment == 0 && extent.w % alignment == 0; }

/// Windows and cores of the quadrants along an axis: those of one half.
struct Half {
    Range window;
    Range core;
};

std::array<Half, 2> halves(int64_t extent) {
    const int64_t middle = extent / 2;
    const int64_t edge = (middle / kQuadrantModulo + 1) * kQuadrantModulo;
    return {{{{0, edge}, {0, middle}}, {{extent - edge, extent}, {middle, extent}}}};
}

std::vector<Tile> quadrants(Extent extent) {
    std::vector<Tile> calls;
    for (const Half& rows : halves(extent.h))
        for (const Half& columns : halves(extent.w))
            calls.push_back({rect_of(rows.window, columns.window), rect_of(rows.core, columns.core)});
    return calls;
}

std::vector<Tile> one_call(Extent extent, int64_t alignment) {
    const Extent window{round_up(extent.h, alignment), round_up(extent.w, alignment)};
    return {{{0, 0, window}, {0, 0, extent}}};
}

std::vector<Tile> drunet_calls(Extent extent, int64_t alignment) {
    const int64_t shortest = std::min(extent.h, extent.w);
    if (is_aligned(extent, alignment) && shortest >= kSmallestDirect) return one_call(extent, alignment);
    if (shortest < kSmallestSplit) return one_call(extent, kSmallModulo);
    return quadrants(extent);
}

std::string text_of(Extent extent) { return fmt::format("{}x{}", extent.h, extent.w); }

[[noreturn]] void refuse(Extent extent, const network::NetworkFacts& facts) {
    const int64_t a = facts.step;
    const Extent below{std::max(a, extent.h / a * a), std::max(a, extent.w / a * a)};
    const Extent above{round_up(extent.h, a), round_up(extent.w, a)};
    throw Refused(
        fmt::format("image of {} px: {} needs extents that are multiples of {}; the nearest are {}{}; crop it, or "
                    "choose odd_shape: pad{}",
                    text_of(extent), facts.kind == network::kCustomKind ? "the network" : name_of(facts.kind), a,
                    below == above ? "" : text_of(below) + " and ", text_of(above),
                    facts.kind == network::kind_of<network::DrunetShape>() ? " or split" : ""));
}

}  // namespace

std::vector<Tile> whole_image_calls(const network::NetworkFacts& facts, Extent extent, OddShape rule) {
    if (extent.h < 1 || extent.w < 1) throw UsageError("image of " + text_of(extent) + " px: there is nothing to run");
    if (rule == OddShape::error && !is_aligned(extent, facts.step)) refuse(extent, facts);
    const bool can_split =
        facts.kind == network::kind_of<network::DrunetShape>() && kSmallModulo % facts.alignment == 0;
    if (rule == OddShape::split && can_split) return drunet_calls(extent, facts.alignment);
    return one_call(extent, facts.step);
}

}  // namespace pb::plan
