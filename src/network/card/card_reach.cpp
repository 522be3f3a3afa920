#include "network/card/card_trials.hpp"

#include "patchbench/base/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace pb::network {

namespace {

constexpr std::array<int64_t, 3> kReachEdges{128, 256, 512};
constexpr double kVisibleInFlat = 1e-3;
constexpr int64_t kLeastForStripes = 64;  // px across them: grey levels of some 2 px each

class ReachSearch {
  public:
    ReachSearch(CardTrials& trials, int64_t base) : trials_(trials), base_(base) {}

    /// Returns why the network is unbounded; nothing where it is bounded.
    std::optional<std::string> run() {
        if (!find_bounded_window(0)) {
            estimate_period(trials_, trials_.edge_from(base_, kReachEdges.front()));
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
        if (auto reason = find_border_effects(trials_, base_, edge_, plain_)) return reason;
        card().radius = std::max({std::abs(low_), std::abs(high_), *card().halo - alignment() + 1});
        return std::nullopt;
    }

    /// Pixels by which the output is off its input, downwards or to the right.
    [[nodiscard]] int64_t shift() const { return (low_ + high_) / 2; }

  private:
    [[nodiscard]] NetworkCard& card() const { return trials_.found.card; }
    [[nodiscard]] int64_t alignment() const { return card().alignment; }

    [[nodiscard]] int64_t core_size() const { return round_up(kCore, alignment()); }

    /// The middle of the window: a core of several pixels. One pixel of a network that is not smooth, as a median, does
    /// not depend on each tap.
    [[nodiscard]] Range middle() const {
        const int64_t size = core_size();
        const int64_t begin = (edge_ - size) / 2 / alignment() * alignment();
        return {begin, begin + size};
    }

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

    /// A window of more than `smaller` px whose frame does not change its middle.
    bool find_bounded_window(int64_t smaller) {
        for (const int64_t least : kReachEdges) {
            const int64_t edge = trials_.edge_from(base_, least);
            if (edge <= smaller) continue;
            if (least > kReachEdges.front() && !trials_.accepts({edge, edge})) return false;  // it may lack memory
            set_edge(edge);
            if (influence_beyond(middle().begin - std::max(kLeastFrame, alignment())) <= kVisible) return true;
        }
        return false;
    }

    /// Makes room for a core of the alignment that is known now.
    void widen() { set_edge(trials_.edge_from(base_, edge_ + 2 * alignment())); }

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
    /// where nothing varies, or at some brightness alone: in strips with flat stripes, where rounding shows more than
    /// in noise.
    [[nodiscard]] bool sees_beyond(int64_t halo) {
        const auto sees = [&](int64_t base, bool is_flat, double visible) {
            return std::ranges::any_of(trials_.long_strips(base), [&](Extent extent) {
                return trials_.accepts(extent) &&  // it may lack memory
                       influence_beyond(halo, {.extent = extent, .is_flat = is_flat}) > visible;
            });
        };
        return sees(base_, false, kVisible) || sees(std::max(base_, kLeastForStripes), true, kVisibleInFlat);
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
