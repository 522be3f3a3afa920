// The trials of find_card.hpp: test images, windows that are run and outputs that are compared, and the search for how
// far a network sees.
#pragma once

#include "network/card/find_card.hpp"

#include "patchbench/base/shape.hpp"
#include "patchbench/network/network_card.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pb::network {

/// Pixels of a window, counted from its first one, that hold other values than the field: zero, or larger ones.
using Changed = std::function<bool(int64_t row, int64_t column)>;

/// A part of a test image. The value of a pixel follows from its place, so that shifted windows have equal pixels.
struct TrialWindow {
    Extent extent;
    int64_t row = 0, column = 0;  // of its first pixel in the field
    double sigma = 0.1;           // in [0,1] units
    Changed changed = {};
    bool is_flat = false;  // pixels that are not changed: stripes of black, white and grey along the longer side
};

/// Values in [0,1] times the card's range, as NCHW; where the card has a noise level, it is the last channel.
[[nodiscard]] std::vector<float> noise_window(const NetworkCard& card, const TrialWindow& window);

/// A smooth scene, with noise of standard deviation `window.sigma` where it is wanted.
[[nodiscard]] std::vector<float> scene_window(const NetworkCard& card, const TrialWindow& window, bool with_noise);

/// A smaller change of the output, by its range, is taken for none: a tenth of the tolerance of the verification.
inline constexpr double kVisible = 1e-5;

inline constexpr int64_t kLeastFrame = 8;      // px: what is changed at the border of a window
inline constexpr int64_t kFarthest = 1000;     // px: what square windows do not show
inline constexpr int64_t kCore = 16;           // px: least extents of the part of an output that is compared
inline constexpr int64_t kLargestPeriod = 64;  // px

class CardTrials {
  public:
    explicit CardTrials(const TryWindow& try_window) : try_window_(try_window) {}

    FoundCard found;  // what is known so far

    /// The least extent from `least` that the network takes, as it takes `base`: a multiple of the alignment, as others
    /// may be computed in another way.
    [[nodiscard]] int64_t edge_from(int64_t base, int64_t least) const {
        return round_up(std::max(least, base), found.card.alignment);
    }
    /// Windows as wide, and as high, as twice kFarthest.
    [[nodiscard]] std::array<Extent, 2> long_strips(int64_t base) const {
        const int64_t width = edge_from(base, 0), length = edge_from(base, 2 * kFarthest);
        return {{{width, length}, {length, width}}};
    }

    [[nodiscard]] bool accepts(Extent extent);
    [[nodiscard]] const std::string& last_refusal() const { return last_refusal_; }

    /// The output for `window`. Throws UsageError for a refusal: windows of this kind have been accepted before.
    [[nodiscard]] std::vector<float> run(const std::vector<float>& window, Extent extent);

    /// Largest difference by the range or by the largest value of `a`, whichever is larger; infinity for NaN.
    [[nodiscard]] double difference(const std::vector<float>& a, const std::vector<float>& b) const;

    /// The values of `rect` in the output for a window of noise.
    [[nodiscard]] std::vector<float> part_for(const TrialWindow& window, const Rect& rect) {
        return part(run(noise_window(found.card, window), window.extent), window.extent, rect);
    }

    /// The larger of two differences: the values of `rect` in a window of noise, and the same pixels in windows that
    /// begin `shift` later in rows or in columns, and are longer by `longer` along that axis.
    [[nodiscard]] double difference_of_shifted(Extent extent, const Rect& rect, int64_t shift, int64_t longer);

    /// The difference of `values`, those of `rect` in a window from the field's first pixel on, and the same pixels of
    /// the field in `moved`.
    [[nodiscard]] double difference_in(const TrialWindow& moved, const Rect& rect, const std::vector<float>& values) {
        return difference(values, part_for(moved, {rect.row - moved.row, rect.column - moved.column, rect.extent}));
    }

    /// The values of `rect` in an output of `extent`.
    [[nodiscard]] std::vector<float> part(const std::vector<float>& output, Extent extent, const Rect& rect) const;

  private:
    const TryWindow& try_window_;
    std::string last_refusal_;
};

/// Remainders of extents that are multiples of the step, but not of the alignment: those that are tried.
[[nodiscard]] std::vector<int64_t> other_remainders(const NetworkCard& card);

/// Takes the step away, with a remark: extents shall be multiples of the alignment.
void extend_images(CardTrials& trials);

/// Sets the card's alignment, which is the step of its extents so far, to the network's period: windows that begin a
/// period later give the same. Sets the step where windows with other extents than multiples of the alignment do so,
/// too, else remarks it. `edge`: of windows whose frame does not change their middle. False, and nothing is set, where
/// there is no period of up to kLargestPeriod.
bool find_period(CardTrials& trials, int64_t edge);

/// The same for a network that is unbounded, whose output each shift changes: its period is one that changes it much
/// less than others do.
void estimate_period(CardTrials& trials, int64_t edge);

/// Returns why a network of which alignment and halo are known is unbounded, as the borders of windows show it. `edge`:
/// of windows whose middle sees no border. Takes the step away where windows of other extents than multiples of the
/// alignment differ along their edges. `plain`: the output for noise in such a window. Throws UsageError where edges
/// change the opposite ones.
[[nodiscard]] std::optional<std::string> find_border_effects(CardTrials& trials, int64_t base, int64_t edge,
                                                             const std::vector<float>& plain);

/// Sets alignment (to the period of the network, where that is larger than the step of its extents), radius and halo of
/// `trials.found.card`. `base`: extent of a window that is accepted. Remarks why a network is unbounded, and a shift of
/// its output.
void find_reach(CardTrials& trials, int64_t base);

}  // namespace pb::network
