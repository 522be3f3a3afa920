#include "measure/study/recommendation.hpp"

#include "base/text.hpp"
#include "measure/point_figures.hpp"
#include "measure/study/point_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

namespace pb::measure {

namespace {

enum class Standing : uint8_t { qualifies, not_measured, not_reached, not_valid, not_compared, seams_show };

struct Candidate : StudyPoint {
    [[nodiscard]] double rate() const { return *summary->useful_mpx_per_s; }
    /// The ends of the interval of the rate (work / pipeline_s), or the rate itself when there is no interval.
    [[nodiscard]] double lowest_rate() const { return interval().low; }
    [[nodiscard]] double highest_rate() const { return interval().high; }
    [[nodiscard]] double memory() const {
        return summary->allocated_peak_mib.value_or(std::numeric_limits<double>::infinity());
    }

  private:
    [[nodiscard]] Interval interval() const {
        return rate_interval(rate(), *summary).value_or(Interval{rate(), rate()});
    }
};

using Candidates = std::vector<Candidate>;

/// Rounding in an image may be larger than in its windows that were looked at: 0.8 to 1.04 times that of three in bf16
/// (dncnn, drunet and unet with the exact halo, images of 256 x 256 and 256 x 1024 px).
constexpr double kRoundingBesideWindows = 1.2;

/// The tolerance applies to seams alone. The seam error includes the rounding of the output to its sample type and,
/// below fp32, that of the network's arithmetic, which windows have without any seam.
double seam_tolerance_of(const record::PointTrace& trace) {
    const record::Verification& verification = trace.verification;
    const bool is_fp32 = trace.point.settings.dtype == Precision::fp32;
    const double of_window = std::max(0.0, verification.window_error.value_or(0) - verification.output_rounding);
    const double arithmetic = is_fp32 ? 0 : kRoundingBesideWindows * of_window;
    return trace.point.settings.halo_tolerance + verification.output_rounding + arithmetic;
}

Standing standing_of(const StudyPoint& point) {
    const record::PointTrace& trace = *point.trace;
    const Summary& summary = *point.summary;
    if (record::is_cut_short(summary.status)) return Standing::not_reached;
    if (!summary.useful_mpx_per_s || !summary.pipeline_s) return Standing::not_measured;
    if (summary.validity != Validity::valid || summary.verification != record::Verification::Outcome::passed)
        return Standing::not_valid;
    if (trace.num_patches == 1) return Standing::qualifies;  // a single patch has no seams
    if (!summary.seam_error) return Standing::not_compared;
    return visible_seams(trace) ? Standing::seams_show : Standing::qualifies;
}

constexpr double kNearlyAsFast = 0.95;  // of the rate of the fastest: wide intervals reach far

/// Returns the candidate that needs least memory among those nearly as fast as the fastest whose interval reaches its
/// interval.
const Candidate& best_of(const Candidates& all) {
    const Candidate& fastest = *std::ranges::max_element(all, {}, &Candidate::rate);
    const auto is_as_fast = [&](const Candidate& one) {
        return one.rate() >= kNearlyAsFast * fastest.rate() && one.highest_rate() >= fastest.lowest_rate();
    };
    const Candidate* best = &fastest;
    for (const auto& candidate : all)
        if (is_as_fast(candidate) && candidate.memory() < best->memory()) best = &candidate;
    return *best;
}

std::string why(const Candidate& best, const Candidates& all) {
    if (all.size() == 1) return "the only verified point without visible seams";
    const auto faster = std::ranges::count_if(all, [&](const auto& one) { return one.rate() > best.rate(); });
    const std::string of = fmt::format(" of {} verified points without visible seams", all.size());
    if (faster == 0) return "the fastest" + of;
    return "needs least memory of those within 5 % of the fastest whose interval reaches it" + of;
}

/// Names other work that ran while points were measured, because it can change the order of their speeds.
std::string caution(const Candidates& all) {
    std::string first;
    int64_t count = 0;
    for (const Candidate& one : all) {
        const std::string foreign = record::foreign_work_of(one.trace->ranks);
        if (foreign.empty()) continue;
        if (count++ == 0) first = foreign;
    }
    if (count == 0) return "";
    return fmt::format("; {} of them not measured alone ({}): measure again on a quiet machine to be sure", count,
                       first);
}

class Group {
  public:
    Group(const PointGroup& group, const StudyPoints& points) : points_(points) {
        recommendation_.label = group.label;
        StudyPoints members;
        for (const size_t member : group.members)
            if (competes(points[member])) members.push_back(points[member]);
        for (const StudyPoint& member : members) recommendation_.points.push_back(member.summary->index);
        // A repeated point does not compete with itself: it is the first that qualifies, or the first.
        std::ranges::stable_partition(
            members, [](const StudyPoint& member) { return standing_of(member) == Standing::qualifies; });
        for (const StudyPoint& member : members) add(member);
    }

    [[nodiscard]] bool is_empty() const { return num_measured_ == 0; }

    [[nodiscard]] Recommendation decide() {
        leave_out_short_halos();
        if (qualified_.empty() || count(Standing::not_reached) > 0) {
            recommendation_.reason = why_none();
            return recommendation_;
        }
        const Candidate& best = best_of(qualified_);
        recommendation_.point = best.summary->index;
        const auto label = [](const StudyPoint& point) { return point.summary->label; };
        recommendation_.point_label =
            unique_label(*best.summary, std::ranges::count(points_, best.summary->label, label));
        recommendation_.reason = why(best, qualified_) + (qualified_.size() > 1 ? caution(qualified_) : "");
        if (const int64_t others = count(Standing::not_valid); others > 0)
            recommendation_.reason += fmt::format("; {} not compared: not VALID, or not verified", others);
        return recommendation_;
    }

  private:
    static bool competes(const StudyPoint& point) {
        return point.trace->point.settings.workload == config::Workload::tiles && !point.summary->simulated;
    }

    void add(const StudyPoint& point) {
        const record::PointTrace& trace = *point.trace;
        const Summary& summary = *point.summary;
        const std::string& key = trace.point.key;
        if (!key.empty() && !keys_.insert(key).second) return;
        const Standing standing = standing_of(point);
        ++counts_[static_cast<size_t>(standing)];
        if (standing != Standing::not_measured && standing != Standing::not_reached) ++num_measured_;
        if (standing == Standing::qualifies) qualified_.push_back({point});
        if (standing == Standing::seams_show) {
            if (*summary.seam_error < least_seam_) {
                least_seam_ = *summary.seam_error;
                tolerance_ = seam_tolerance_of(trace);
            }
            short_halo_ = std::max(short_halo_, trace.point.halo.value_or(0));
        }
    }

    /// Removes points with a halo whose seams show with another patch size. Their seams are invisible only because of
    /// where they lie.
    void leave_out_short_halos() {
        const auto is_short = [&](const Candidate& one) {
            return one.trace->num_patches > 1 && one.trace->point.halo.value_or(0) <= short_halo_;
        };
        num_hidden_ = static_cast<int64_t>(std::erase_if(qualified_, is_short));
    }

    [[nodiscard]] int64_t count(Standing standing) const { return counts_[static_cast<size_t>(standing)]; }

    [[nodiscard]] std::string why_none() const {
        std::string text;
        const auto say = [&](int64_t number, const std::string& words) {
            if (number > 0) add_item(text, fmt::format("{} {}", number, words), "; ");
        };
        const auto add = [&](Standing standing, const std::string& words) { say(count(standing), words); };
        if (count(Standing::not_reached) > 0)
            return fmt::format("not finished: {} of {} points are still to be measured", count(Standing::not_reached),
                               recommendation_.points.size());
        add(Standing::seams_show,
            fmt::format("with visible seams (seam error from {:.2g} on, above {:.2g}): take a larger halo", least_seam_,
                        tolerance_));
        say(num_hidden_, "with a halo whose seams show at another patch");
        add(Standing::not_compared, "whose seams were not compared with full context");
        add(Standing::not_valid, "not VALID, or not verified");
        return "no point qualifies: " + text;
    }

    const StudyPoints& points_;
    Recommendation recommendation_;
    std::set<std::string> keys_;
    Candidates qualified_;
    std::array<int64_t, 6> counts_{};
    int64_t num_measured_ = 0;
    double least_seam_ = std::numeric_limits<double>::infinity();
    double tolerance_ = 0;
    int64_t short_halo_ = -1;  // the largest halo whose seams show
    int64_t num_hidden_ = 0;   // points removed only because of it
};

}  // namespace

std::optional<double> visible_seams(const record::PointTrace& trace) {
    const network::NetworkFacts& facts = trace.point.facts();
    if (facts.is_bounded && trace.point.halo.value_or(0) >= facts.exact_halo) return std::nullopt;
    const auto& error = trace.verification.seam_error;
    return error && !(*error <= seam_tolerance_of(trace)) ? error : std::nullopt;
}

std::vector<Recommendation> recommend(const StudyPoints& points) {
    std::vector<Recommendation> all;
    for (const auto& members : group_points(points, kCutting)) {
        Group group(members, points);
        if (!group.is_empty()) all.push_back(group.decide());
    }
    return all;
}

}  // namespace pb::measure
