// What the borders of windows show: a network may join them to each other, or have some of its own within a window.
#include "network/card/card_trials.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/base/shape.hpp"

#include <algorithm>
#include <optional>

namespace pb::network {

namespace {

constexpr int64_t kWide = 256;  // px: a part of an output that shows borders of tiles of that size, rows and columns

class BorderSearch {
  public:
    /// See find_border_effects.
    BorderSearch(CardTrials& trials, int64_t base, int64_t edge, const std::vector<float>& plain)
        : trials_(trials), base_(base), edge_(edge), plain_(plain) {}

    /// Returns why the network is unbounded; nothing where it is bounded.
    std::optional<std::string> run() {
        if (wraps_around())
            throw UsageError(
                "what lies along one edge of a window changes the opposite edge, as circular padding and Fourier "
                "transforms do: windows cannot give what the whole image gives; pad the input inside the network");
        if (has_inner_borders())
            return "its output depends on where a pixel lies in long or wide windows, as that of a network which cuts "
                   "them into tiles of its own";
        if (borders_depend_on_extents())
            return "what it gives along the edges of a window depends on the window's extents";
        return std::nullopt;
    }

  private:
    [[nodiscard]] NetworkCard& card() const { return trials_.found.card; }
    [[nodiscard]] int64_t alignment() const { return card().alignment; }

    /// Pixels from a border of a window at which it does not show: half as many again as the halo, since what lies
    /// along a border can count more than other pixels do.
    [[nodiscard]] int64_t margin() const { return round_up(*card().halo * 3 / 2, alignment()) + alignment(); }

    /// Whether pixels along an edge of the window change what is farther from it than the halo.
    [[nodiscard]] bool wraps_around() {
        const int64_t beyond = kLeastFrame + margin();  // px from the edge
        if (beyond >= edge_) return false;
        const Range all{0, edge_}, first{0, kLeastFrame}, last{edge_ - kLeastFrame, edge_};
        const auto changes = [&](const Rect& strip, const Rect& far) {
            const auto is_changed = [&](int64_t y, int64_t x) {
                return y >= strip.row && y < strip.row + strip.extent.h && x >= strip.column &&
                       x < strip.column + strip.extent.w;
            };
            const TrialWindow window{.extent = {edge_, edge_}, .changed = is_changed};
            return trials_.difference(trials_.part(plain_, window.extent, far), trials_.part_for(window, far)) >
                   kVisible;
        };
        const Range after{beyond, edge_}, before{0, edge_ - beyond};
        return changes(rect_of(first, all), rect_of(after, all)) || changes(rect_of(last, all), rect_of(before, all)) ||
               changes(rect_of(all, first), rect_of(all, after)) || changes(rect_of(all, last), rect_of(all, before));
    }

    /// Whether windows that are longer along one axis give other pixels where they do not see the ends that differ, as
    /// those of a network that puts its window into the middle of a larger one. Where that is so of extents that are no
    /// multiples of the alignment alone, images are extended.
    [[nodiscard]] bool borders_depend_on_extents() {
        const std::vector<int64_t> remainders = other_remainders(card());
        if (!remainders.empty() && extents_matter(remainders.front())) extend_images(trials_);
        return extents_matter(0);
    }

    [[nodiscard]] bool extents_matter(int64_t remainder) {
        const int64_t edge = edge_ + remainder, more = alignment(), unseen = margin();
        if (unseen >= edge) return false;
        const Range all{0, edge}, first{0, edge - unseen}, last{unseen, edge};
        const Extent square{edge, edge};
        const std::vector<float> plain =
            remainder == 0 ? plain_ : trials_.run(noise_window(card(), {.extent = square}), square);
        const auto differs = [&](const TrialWindow& longer, const Rect& same) {
            return trials_.difference_in(longer, same, trials_.part(plain, square, same)) > kVisible;
        };
        const Extent taller{edge + more, edge}, wider{edge, edge + more};
        return differs({.extent = taller}, rect_of(first, all)) ||
               differs({.extent = taller, .row = -more}, rect_of(last, all)) ||
               differs({.extent = wider}, rect_of(all, first)) ||
               differs({.extent = wider, .column = -more}, rect_of(all, last));
    }

    /// Whether windows that begin an alignment later give other pixels in a wide part, which sees nothing of their
    /// ends, or along a strip.
    [[nodiscard]] bool has_inner_borders() {
        for (const Extent& strip : trials_.long_strips(base_)) {
            const bool is_wide = strip.w > strip.h;
            const Range along{margin() + alignment(), std::max(strip.h, strip.w) - margin()};
            const Rect part = is_wide ? rect_of({0, strip.h}, along) : rect_of(along, {0, strip.w});
            const TrialWindow later{
                .extent = strip, .row = is_wide ? 0 : alignment(), .column = is_wide ? alignment() : 0};
            if (along.size() > 0 && trials_.accepts(strip) &&
                trials_.difference_in(later, part, trials_.part_for({.extent = strip}, part)) > kVisible)
                return true;
        }
        const int64_t shift = alignment(), begin = margin() + shift, size = round_up(kWide, shift);
        const int64_t edge = trials_.edge_from(base_, 2 * begin + size);
        const Extent extent{edge, edge};
        if (!trials_.accepts(extent)) return false;  // it may lack memory
        const Rect part{begin, begin, {size, size}};
        return trials_.difference_of_shifted(extent, part, shift, 0) > kVisible;
    }

    CardTrials& trials_;
    int64_t base_, edge_;
    const std::vector<float>& plain_;
};

}  // namespace

std::optional<std::string> find_border_effects(CardTrials& trials, int64_t base, int64_t edge,
                                               const std::vector<float>& plain) {
    return BorderSearch(trials, base, edge, plain).run();
}

}  // namespace pb::network
