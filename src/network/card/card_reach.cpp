#include "network/card/card_trials.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/base/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace pb::network {

namespace {

constexpr std::array<int64_t, 3> kReachEdges{128, 256, 512};
constexpr int64_t kLeastFrame = 8;   // px: what is changed at the border of a window
constexpr int64_t kWide = 256;       // px: a part of an output that shows borders of tiles of that size
constexpr int64_t kFarthest = 1000;  // px: what a square window of the largest edge does not show
constexpr double kVisibleInFlat = 1e-3;

class ReachSearch {
  public:
    ReachSearch(CardTrials& trials, int64_t base) : trials_(trials), base_(base) {}

    /// Returns why the network is unbounded; nothing where it is bounded.
    std::optional<std::string> run() {
        if (!find_bounded_window(0)) {
            estimate_period(trials_, edge_from(kReachEdges.front()));
            return "any pixel of a window can change its middle: global statistics or attention";
        }
        if (!find_period(trials_, edge_))
            return fmt::format(
                "its output depends on where a pixel lies in the window, or on the window's extents, with no period of "
                "up to {} px",
                kLargestPeriod);
        std::optional<int64_t> halo;
        do {
            widen();
            halo = find_halo();
        } while (!halo && find_bounded_window(edge_));
        if (!halo)
            return fmt::format("pixels beyond the middle of windows of {} px change the middle of longer ones", edge_);
        find_boxes();
        card().halo = std::max(*halo, halo_of_boxes_);
        widen_halo();
        if (wraps_around())
            throw UsageError(
                "what lies along one edge of a window changes the opposite edge, as circular padding and Fourier "
                "transforms do: windows cannot give what the whole image gives; pad the input inside the network");
        if (has_inner_borders())
            return fmt::format(
                "its output depends on where a pixel lies in windows of more than {} px, as that of a network which "
                "cuts them into tiles of its own",
                kWide);
        if (borders_depend_on_extents())
            return "what it gives along the edges of a window depends on the window's extents";
        card().radius = std::max({std::abs(low_), std::abs(high_), *card().halo - alignment() + 1});
        return std::nullopt;
    }

    /// Pixels by which the output is off its input, downwards or to the right.
    [[nodiscard]] int64_t shift() const { return (low_ + high_) / 2; }

  private:
    [[nodiscard]] NetworkCard& card() const { return trials_.found.card; }
    [[nodiscard]] int64_t alignment() const { return card().alignment; }

    /// Pixels from a border of a window at which it does not show: half as many again as the halo, since what lies
    /// along a border can count more than other pixels do.
    [[nodiscard]] int64_t margin() const { return round_up(*card().halo * 3 / 2, alignment()) + alignment(); }

    [[nodiscard]] int64_t core_size() const { return round_up(kCore, alignment()); }

    /// The middle of the window: a core of several pixels. One pixel of a network that is not smooth, as a median, does
    /// not depend on each tap.
    [[nodiscard]] Range middle() const {
        const int64_t size = core_size();
        const int64_t begin = (edge_ - size) / 2 / alignment() * alignment();
        return {begin, begin + size};
    }

    /// The edge of windows that are accepted, at least `least`: a multiple of the alignment, as other extents may be
    /// computed in another way.
    [[nodiscard]] int64_t edge_from(int64_t least) const { return round_up(std::max(least, base_), alignment()); }

    void set_edge(int64_t edge) {
        edge_ = edge;
        plain_ = trials_.run(noise_window(card(), {.extent = {edge, edge}}), {edge, edge});
    }

    /// How much the pixels farther than `distance` from the middle change the middle.
    [[nodiscard]] double influence_beyond(int64_t distance) {
        const Range core = middle();
        const auto is_far = [&](int64_t place) {
            return place < core.begin - distance || place >= core.end + distance;
        };
        const TrialWindow window{.extent = {edge_, edge_},
                                 .changed = [&](int64_t y, int64_t x) { return is_far(y) || is_far(x); }};
        const Rect part = rect_of(core, core);
        return trials_.difference(trials_.part(plain_, window.extent, part), trials_.part_for(window, part));
    }

    /// The least distance beyond which nothing changes the middle; none where pixels outside of the window do.
    [[nodiscard]] std::optional<int64_t> find_halo() {
        const int64_t most = std::max<int64_t>(1, middle().begin / alignment()) * alignment();
        const int64_t halo = least_without_effect(
            -alignment(), most, [&](int64_t distance) { return influence_beyond(distance) > kVisible; });
        if (!sees_beyond(halo)) return halo;
        if (halo == most || sees_beyond(most)) return std::nullopt;
        // Strips have more pixels of a kind that few show.
        return least_without_effect(halo, most, [&](int64_t distance) { return sees_beyond(distance); });
    }

    /// Widens the halo to what windows with other remainders need: a network that pads them at both ends has its blocks
    /// elsewhere.
    void widen_halo() {
        const int64_t edge = edge_, halo = *card().halo;
        for (const int64_t remainder : other_remainders(card())) {
            set_edge(edge + remainder);
            for (; influence_beyond(*card().halo) > kVisible; *card().halo += alignment()) {
                if (*card().halo < middle().begin) continue;
                card().halo = halo;
                extend_images(trials_);
                return set_edge(edge);
            }
        }
        if (edge_ != edge) set_edge(edge);
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
        const TrialWindow square{.extent = {edge, edge}};
        const std::vector<float> plain = trials_.run(noise_window(card(), square), square.extent);
        const auto differs = [&](const TrialWindow& longer, const Rect& same) {
            const Rect moved{same.row - longer.row, same.column - longer.column, same.extent};
            return trials_.difference(trials_.part(plain, square.extent, same), trials_.part_for(longer, moved)) >
                   kVisible;
        };
        const Extent taller{edge + more, edge}, wider{edge, edge + more};
        return differs({.extent = taller}, rect_of(first, all)) ||
               differs({.extent = taller, .row = -more}, rect_of(last, all)) ||
               differs({.extent = wider}, rect_of(all, first)) ||
               differs({.extent = wider, .column = -more}, rect_of(all, last));
    }

    /// Whether windows that begin an alignment later give other pixels in a wide part, which sees nothing of their
    /// ends.
    [[nodiscard]] bool has_inner_borders() {
        const int64_t shift = alignment(), begin = margin(), size = round_up(kWide, shift);
        const int64_t edge = edge_from(2 * begin + size);
        const Extent extent{edge, edge};
        if (!trials_.accepts(extent)) return false;  // it may lack memory
        const Rect part{begin, begin, {size, size}};
        return trials_.difference_of_shifted(extent, part, shift, 0) > kVisible;
    }

    /// A window of more than `smaller` px whose frame does not change its middle.
    bool find_bounded_window(int64_t smaller) {
        for (const int64_t least : kReachEdges) {
            const int64_t edge = edge_from(least);
            if (edge <= smaller) continue;
            if (least > kReachEdges.front() && !trials_.accepts({edge, edge})) return false;  // it may lack memory
            set_edge(edge);
            if (influence_beyond(middle().begin - std::max(kLeastFrame, alignment())) <= kVisible) return true;
        }
        return false;
    }

    /// Makes room for a core of the alignment that is known now.
    void widen() { set_edge(edge_from(edge_ + 2 * alignment())); }

    /// The least distance above `with_effect`, up to `without`, beyond which pixels have no effect.
    template <class HasEffect>
    [[nodiscard]] int64_t least_without_effect(int64_t with_effect, int64_t without, HasEffect has_effect) const {
        while (without - with_effect > alignment()) {
            const int64_t tried = with_effect + (without - with_effect) / alignment() / 2 * alignment();
            (has_effect(tried) ? with_effect : without) = tried;
        }
        return without;
    }

    /// Whether pixels beyond `halo`, but within kFarthest along one axis, change the middle of a long strip. A filter
    /// with far holes looks bounded in a square window whose edge is within a hole. Networks fill gaps, or average more
    /// where nothing varies: in strips that are flat, where rounding shows more than in noise.
    [[nodiscard]] bool sees_beyond(int64_t halo) {
        const int64_t width = edge_from(0), length = edge_from(2 * kFarthest);
        return std::ranges::any_of(std::array{Extent{width, length}, Extent{length, width}}, [&](Extent extent) {
            return trials_.accepts(extent) &&
                   (influence_beyond(halo, {.extent = extent}) > kVisible ||
                    influence_beyond(halo, {.extent = extent, .is_flat = true}) > kVisibleInFlat);
        });  // it may lack memory
    }

    /// How much the pixels farther than `halo` along the strip change its middle.
    [[nodiscard]] double influence_beyond(int64_t halo, TrialWindow strip) {
        const bool is_wide = strip.extent.w > strip.extent.h;
        const int64_t begin = std::max(strip.extent.h, strip.extent.w) / 2 / alignment() * alignment();
        const Range core{begin, begin + alignment()};
        const Rect part = is_wide ? rect_of({0, strip.extent.h}, core) : rect_of(core, {0, strip.extent.w});
        const std::vector<float> unchanged = trials_.part_for(strip, part);
        strip.changed = [&](int64_t y, int64_t x) {
            const int64_t place = is_wide ? x : y;
            return place < core.begin - halo || place >= core.end + halo;
        };
        return trials_.difference(unchanged, trials_.part_for(strip, part));
    }

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

    /// Changes single pixels of the middle.
    void find_boxes() {
        const int64_t last = alignment() - 1;
        std::vector<std::pair<int64_t, int64_t>> phases{{0, 0}, {last, last}, {0, last}, {last / 2, last / 3}};
        phases.erase(std::unique(phases.begin(), phases.end()), phases.end());
        for (const auto& [row, column] : phases) add_box(middle().begin + row, middle().begin + column);
    }

    void add_box(int64_t row, int64_t column) {
        const TrialWindow window{.extent = {edge_, edge_},
                                 .changed = [&](int64_t y, int64_t x) { return y == row && x == column; }};
        const std::vector<float> output = trials_.run(noise_window(card(), window), window.extent);
        double scale = card().range;
        for (const float value : plain_) scale = std::max(scale, std::abs(double{value}));
        for (size_t i = 0; i < output.size(); ++i) {
            if (std::abs(double{output[i]} - double{plain_[i]}) <= kVisible * scale) continue;
            const auto pixel = static_cast<int64_t>(i) % (edge_ * edge_);
            add_changed(row, pixel / edge_);
            is_changed_ = true;
            add_changed(column, pixel % edge_);
        }
    }

    /// An output at `made` that depends on the input at `read`: one axis. The core of `made` needs the pixels up to it.
    void add_changed(int64_t read, int64_t made) {
        low_ = is_changed_ ? std::min(low_, made - read) : made - read;
        high_ = is_changed_ ? std::max(high_, made - read) : made - read;
        const int64_t core = made / alignment() * alignment();
        const int64_t distance = std::max(core - read, read - (core + alignment() - 1));
        halo_of_boxes_ = std::max(halo_of_boxes_, round_up(std::max<int64_t>(0, distance), alignment()));
    }

    CardTrials& trials_;
    int64_t base_;
    int64_t edge_ = 0;
    std::vector<float> plain_;    // output for the unchanged window of `edge_`
    int64_t low_ = 0, high_ = 0;  // farthest outputs that a pixel changes, from its own place
    bool is_changed_ = false;     // whether a pixel has changed an output
    int64_t halo_of_boxes_ = 0;
};

}  // namespace

void find_reach(CardTrials& trials, int64_t base) {
    std::vector<std::string>& remarks = trials.found.remarks;
    ReachSearch search(trials, base);
    if (const auto reason = search.run()) {
        trials.found.card.halo.reset();
        remarks.push_back("its receptive field is unbounded: " + *reason);
        return;
    }
    // Where in a block a pixel lies moves what it changes.
    if (2 * std::abs(search.shift()) > trials.found.card.alignment)
        remarks.push_back(
            fmt::format("its output is shifted: what a pixel changes lies about {} px off it", search.shift()));
}

}  // namespace pb::network
