// The period of a network's grid, found by shifting windows.
#include "network/card/card_trials.hpp"

#include "patchbench/base/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace pb::network {

namespace {

constexpr std::array<int64_t, 29> kPeriods{
    1,  2,  4,  8,  16, 32, 64, 3,  5,  6,  7,  9,  10, 11, 12,
    13, 14, 15, 18, 20, 22, 24, 28, 30, 36, 40, 48, 56, 60};  // in steps of extents

class PeriodSearch {
  public:
    /// `edge`: what windows hold around the pixels that are compared.
    PeriodSearch(CardTrials& trials, int64_t edge) : trials_(trials), edge_(edge), step_(trials.found.card.alignment) {}

    /// The first period whose shift changes nothing, and that of two of them neither: where a network pads at both
    /// ends, the middle of longer windows can lie as if they were shifted by a period.
    bool find() {
        const auto has_no_effect = [&](int64_t factor) {
            return is_tried(factor) && shift_error(factor * step_) <= kVisible &&
                   (factor == 1 || shift_error(factor * step_, 0, 2) <= kVisible);
        };
        const auto found = std::ranges::find_if(kPeriods, has_no_effect);
        if (found == kPeriods.end()) return false;
        take(*found * step_, kVisible);
        return true;
    }

    /// Each shift changes the output. Where there is a period, shifts by a large multiple of it change much less than
    /// those by an odd number of steps; it is their least divisor that changes about as little. What shifts by periods
    /// change scatters, as far as they stay apart from the others.
    void estimate() {
        constexpr double kMuch = 4, kAlike = 10;
        int64_t multiple = 1;
        double least = std::numeric_limits<double>::infinity();
        for (const int64_t odd : kOdd) {
            const int64_t tried = largest_multiple(odd);
            const double error = error_of(tried);
            if (error >= least) continue;
            multiple = tried;
            least = error;
        }
        if (multiple == 1) return;
        double other = std::numeric_limits<double>::infinity();
        for (const int64_t odd : kOdd)
            if (odd == 1 || multiple % odd != 0) other = std::min(other, error_of(odd));
        if (other < kMuch * least) return;
        const double tolerance = std::max(kVisible, std::min(kAlike * least, std::sqrt(least * other)));
        int64_t period = 2;
        while (period < multiple && (multiple % period != 0 || error_of(period) > tolerance)) ++period;
        take(period * step_, tolerance);
    }

  private:
    static constexpr std::array<int64_t, 4> kOdd{1, 3, 5, 7};

    /// `odd` times a power of two.
    [[nodiscard]] int64_t largest_multiple(int64_t odd) const {
        while (is_tried(2 * odd)) odd *= 2;
        return odd;
    }

    /// shift_error in steps; infinity where the network does not take such windows: it may lack memory.
    [[nodiscard]] double error_of(int64_t factor) {
        const bool is_possible = is_tried(factor) && trials_.accepts(extent_for(factor * step_));
        return is_possible ? shift_error(factor * step_) : std::numeric_limits<double>::infinity();
    }

    [[nodiscard]] bool is_tried(int64_t factor) const { return factor == 1 || factor * step_ <= kLargestPeriod; }

    /// Edge of the part of an output that is compared.
    [[nodiscard]] static int64_t core_for(int64_t period) { return round_up(kCore, period); }

    /// Extents of the windows of shift_error: multiples of the period, as others may be resized, and `remainder`.
    [[nodiscard]] Extent extent_for(int64_t period, int64_t remainder = 0) const {
        const int64_t edge = round_up(edge_ + 2 * period + core_for(period), period) + remainder;
        return {edge, edge};
    }

    /// The difference of the outputs of windows that begin `period` later and are longer by it, in rows or in columns,
    /// where these see the same pixels. Longer ones show a network whose result depends on the extents of its window,
    /// as one does that puts it into the middle of a square. A core of several pixels, and each axis by itself: some
    /// pixels of a maximum of blocks, and all of a checkerboard that is shifted along its diagonal, hide a period.
    /// `remainder`: what extents are larger by. `count`: of periods that they begin later.
    [[nodiscard]] double shift_error(int64_t period, int64_t remainder = 0, int64_t count = 1) {
        const int64_t size = core_for(period);
        const int64_t shift = count * period;
        const int64_t begin = round_up(edge_ / 2 + shift, step_);
        return trials_.difference_of_shifted(extent_for(shift, remainder), {begin, begin, {size, size}}, shift, shift);
    }

    /// Sets alignment and step.
    void take(int64_t period, double tolerance) {
        NetworkCard& card = trials_.found.card;
        card.alignment = period;
        if (period == step_) return;
        card.step = step_;
        for (const int64_t remainder : other_remainders(card)) {
            const bool is_taken = trials_.accepts(extent_for(period, remainder));
            if (!is_taken || shift_error(period, remainder) > tolerance) return extend_images(trials_);
        }
    }

    CardTrials& trials_;
    int64_t edge_;
    int64_t step_;  // of the extents that are accepted
};

}  // namespace

std::vector<int64_t> other_remainders(const NetworkCard& card) {
    std::vector<int64_t> remainders;
    for (int64_t distance = card.extent_step(); 2 * distance <= card.alignment; distance *= 2) {
        remainders.push_back(distance);
        if (2 * distance < card.alignment) remainders.push_back(card.alignment - distance);
    }
    return remainders;
}

void extend_images(CardTrials& trials) {
    trials.found.card.step.reset();
    trials.found.remarks.push_back(
        fmt::format("windows whose extents are no multiples of {} px give other pixels: images are extended",
                    trials.found.card.alignment));
}

bool find_period(CardTrials& trials, int64_t edge) { return PeriodSearch(trials, edge).find(); }

void estimate_period(CardTrials& trials, int64_t edge) { PeriodSearch(trials, edge).estimate(); }

}  // namespace pb::network
