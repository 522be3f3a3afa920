// Two sets of samples of one point: is the new one faster, slower or the same? Pure; times in seconds, but any positive
// figure that is better when lower will do.
#pragma once

#include "base/statistics.hpp"

#include "patchbench/base/enum_names.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb {

enum class Change : uint8_t { faster, slower, same, unsure };

template <>
struct EnumNames<Change> {
    static constexpr std::array<std::pair<Change, std::string_view>, 4> names{
        {{Change::faster, "FASTER"}, {Change::slower, "SLOWER"}, {Change::same, "SAME"}, {Change::unsure, "UNSURE"}}};
};

/// One start of the program: the time of each repetition of the point, in the order of measurement.
using Launch = std::vector<double>;

/// SAME: the interval of the ratio lies within 1 -+ this.
inline constexpr double kSameWithin = 0.01;
/// FASTER, SLOWER: a test's p value is at most this. Equal runs are then called different in less than 1 % of cases,
/// with room for launches that are not quite normal.
inline constexpr double kSignificance = 0.005;

/// A gate needs this many launches of each version at least: fewer say next to nothing of how launches differ.
inline constexpr int64_t kFewestLaunches = 3;

struct Comparison {
    Change change = Change::unsure;
    double ratio = 1;                        // new time / old time: above 1 is slower
    std::optional<Interval> ratio_interval;  // 95 %; none where there are too few samples
    double p_value = 1;                      // of "no difference", two-sided
    bool launches_are_units = false;         // else single repetitions are
    bool these_launches_only = true;         // the claim covers the launches that were compared, not later ones
    std::optional<double> launch_spread;     // standard deviation of ln(median) between launches of one version
    std::string reason;                      // in words: what decided, or what is missing and what to do
};

/// Compares old with new launches of one point, one or several each. Throws Error on an empty side or launch and on
/// times that are not positive.
/// One launch a side: ratio of medians, interval by MOVER on logarithms (Zou & Donner 2008) from the order-statistic
/// intervals of both medians, rank-sum test of the repetitions. Nothing is then known of how launches differ, so the
/// claim covers these launches only. A drift within a launch that is as large as the difference leaves it UNSURE.
/// Three launches or more in all: the unit is the launch, its figure the median; ratio of their geometric means with
/// Student's t interval on logarithms (equal spread of launches assumed); the rank-sum test where the numbers suffice
/// for it, else Student's t test. Launches with the very same samples count once.
/// FASTER and SLOWER need the test and an interval that excludes 1; SAME needs the interval within `kSameWithin` only;
/// anything else is UNSURE. The same samples on both sides are SAME by identity.
[[nodiscard]] Comparison compare_times(const std::vector<Launch>& old_launches,
                                       const std::vector<Launch>& new_launches);

/// The time that `Comparison::ratio` is the ratio of: the geometric mean of the launches' medians.
[[nodiscard]] double typical_time(const std::vector<Launch>& launches);

/// Launches of each version that tell a slow-down of `slower` (0.03: 3 %) from chance four times in five, where
/// launches of one version spread by `spread` (see launch_spread). At least kFewestLaunches, at most `kMostLaunches`.
[[nodiscard]] int64_t launches_needed(double spread, double slower);
inline constexpr int64_t kMostLaunches = 1000;

}  // namespace pb
