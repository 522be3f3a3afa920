#include "network/parts/strips.hpp"

#include "network/receptive_field.hpp"

#include "patchbench/base/error.hpp"

namespace pb::network {

StripCut::StripCut(const Graph& graph, int64_t width, ComputedUnit unit)
    : width_(width), unit_(alignment_of(graph) * (unit == ComputedUnit::tile ? kWinogradTile : 1)) {
    const Range seen = computed_ranges(graph, {0, unit_}, unit).front();
    const int64_t after = seen.end - unit_, rest = width % unit_;  // each window is whole units and this rest wide
    before_ = ceil_div(-seen.begin, unit_);
    context_ = before_ + ceil_div(std::max<int64_t>(0, after - rest), unit_);
    steps_ = width / unit_ - context_;
}

int64_t StripCut::window_of(int64_t num_strips) const {
    if (num_strips == 1) return width_;
    require(num_strips > 1 && num_strips <= most_strips(), "more strips than the image has columns for");
    return width_ % unit_ + (context_ + ceil_div(steps_, num_strips)) * unit_;
}

std::vector<Strip> StripCut::strips(int64_t window) const {
    if (window == width_) return {{{0, width_}, {0, width_}}};
    const int64_t step = window / unit_ - context_;  // units from a core to the next one
    require(step > 0 && window < width_ && (width_ - window) % unit_ == 0, "a window that cuts no strips");
    const int64_t count = ceil_div(steps_, step);
    std::vector<Strip> strips;
    int64_t core = 0;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t first = i * step;
        const int64_t begin = std::min(first * unit_, width_ - window);
        const int64_t end = i + 1 == count ? width_ : (first + step + before_) * unit_;
        strips.push_back({{begin, begin + window}, {core, end}});
        core = end;
    }
    return strips;
}

}  // namespace pb::network
