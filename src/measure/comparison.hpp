// Compares two sets of samples of one point: is the new one faster, slower or the same? Pure. Times are in seconds, but
// any positive figure works for which lower is better.
#pragma once

#include "base/statistics.hpp"

#include "patchbench/base/enum_names.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb::measure {

enum class Change : uint8_t { faster, slower, same, unsure };

constexpr auto enum_names(Change) {
    return std::to_array<EnumName<Change>>(
        {{Change::faster, "FASTER"}, {Change::slower, "SLOWER"}, {Change::same, "SAME"}, {Change::unsure, "UNSURE"}});
}

/// The times of a point's repetitions in one start of the program, in the order of measurement.
using Launch = std::vector<double>;

/// SAME requires the interval of the ratio to lie within 1 - this and 1 + this.
inline constexpr double kSameWithin = 0.01;
/// FASTER and SLOWER require a p value of at most this. Equal runs are then called different in less than 1 % of cases,
/// even when launches are not quite normal.
inline constexpr double kSignificance = 0.005;

/// A gate needs at least this many launches of each version. Fewer show too little of how launches differ.
inline constexpr int64_t kFewestLaunches = 3;

struct Comparison {
    Change change = Change::unsure;
    double ratio = 1;                        // new time / old time: above 1 is slower
    std::optional<Interval> ratio_interval;  // 95 %; none where there are too few samples
    double p_value = 1;                      // of the hypothesis "no difference", two-sided
    size_t fewest_launches = 1;              // different ones, on the side with fewer: with one, later ones may differ
    std::optional<double> launch_spread;     // standard deviation of ln(median) between launches of one version
    std::string reason;                      // why this outcome, or what is missing and what to do

    /// Whether both sides have the same samples: they are the same, whatever they are worth.
    [[nodiscard]] bool is_identity() const {
        return ratio_interval && ratio_interval->low == 1 && ratio_interval->high == 1;
    }
};

/// Compares old with new launches of one point, one or several on each side. Throws Error on an empty side or launch
/// and on times that are not positive.
/// One launch on each side: ratio of medians; interval by MOVER on logarithms (Zou & Donner 2008) from the
/// order-statistic intervals of both medians; rank-sum test of the repetitions. How launches differ is unknown, so the
/// claim covers these launches only. A drift within a launch that is as large as the difference gives UNSURE.
/// Three or more launches in total: the unit is the launch, and its figure is the median. Ratio of the geometric means;
/// Student's t interval on logarithms (assumes equal spread of launches); the rank-sum test where there are enough
/// launches for it, otherwise Student's t test. Launches with equal samples count once.
/// FASTER and SLOWER need the test and an interval that excludes 1. SAME needs only the interval within `kSameWithin`.
/// Anything else is UNSURE. Equal samples on both sides are SAME by identity.
[[nodiscard]] Comparison compare_times(const std::vector<Launch>& old_launches,
                                       const std::vector<Launch>& new_launches);

/// Returns the time that `Comparison::ratio` compares: the geometric mean of the launches' medians.
[[nodiscard]] double typical_time(const std::vector<Launch>& launches);

/// Returns how many launches of each version call a slow-down of `slower` (0.03: 3 %) SLOWER in four cases out of five.
/// `spread` is that of launches of one version (see launch_spread). At least kFewestLaunches, at most `kMostLaunches`.
[[nodiscard]] int64_t launches_needed(double spread, double slower);
inline constexpr int64_t kMostLaunches = 1000;

}  // namespace pb::measure
