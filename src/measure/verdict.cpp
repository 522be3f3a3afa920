#include "measure/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace pb::measure {

namespace {

using Summaries = std::vector<Summary>;
using Condition = std::function<bool(const Summary&)>;

int64_t count_if(const Summaries& summaries, const Condition& condition) {
    return std::ranges::count_if(summaries, condition);
}

/// Counts subjects of a verdict: "2 of 9 points".
struct Counter {
    size_t total;
    std::string_view noun;

    [[nodiscard]] std::string operator()(int64_t count) const {
        return fmt::format("{} of {} {}{}", count, total, noun, total == 1 ? "" : "s");
    }
};

bool has_status(const Summary& summary, record::PointStatus status) { return summary.status == status; }
bool failed_verification(const Summary& summary) {
    return summary.verification == record::Verification::Outcome::failed;
}
bool is_measured(const Summary& summary) { return summary.status == record::PointStatus::ok; }
bool is_simulated_figure(const Summary& summary) { return is_measured(summary) && summary.simulated; }
bool is_broken(const Summary& summary) { return summary.status == record::PointStatus::failed; }
/// True for a point that more time or memory could have measured. A refused point counts as an answer.
bool is_partial(const Summary& summary) {
    return !is_measured(summary) && !is_broken(summary) && !has_status(summary, record::PointStatus::refused);
}
bool was_cut_short(const Summary& summary) { return record::is_cut_short(summary.status); }
bool lacks_interval(const Summary& summary) {
    return is_measured(summary) && summary.repetitions < kMinRepetitionsForInterval;
}

/// Adds each reason of the points that `concerned` selects once, with the number of its points. More than kMostReasons
/// are counted.
void add_reasons(const Summaries& summaries, const Counter& counted, const Condition& concerned,
                 std::vector<std::string>& reasons) {
    constexpr size_t kMostReasons = 5;
    std::vector<std::string> seen;
    for (const auto& summary : summaries) {
        if (!concerned(summary)) continue;
        for (const auto& reason : summary.reasons) {
            if (std::ranges::find(seen, reason) != seen.end()) continue;
            seen.push_back(reason);
            if (seen.size() > kMostReasons) continue;
            const int64_t count = count_if(summaries, [&](const Summary& other) {
                return concerned(other) && std::ranges::count(other.reasons, reason) > 0;
            });
            reasons.push_back(counted(count) + ": " + reason);
        }
    }
    if (seen.size() > kMostReasons) reasons.push_back(fmt::format("{} other reasons", seen.size() - kMostReasons));
}

void add_partial(const Summaries& summaries, const Counter& counted, std::vector<std::string>& reasons) {
    constexpr std::array<std::pair<record::PointStatus, const char*>, 5> kWords{{
        {record::PointStatus::oom, " out of memory"},
        {record::PointStatus::index_limit, " beyond 32-bit indices"},
        {record::PointStatus::skipped, " skipped"},
        {record::PointStatus::interrupted, " interrupted"},
        {record::PointStatus::refused, " refused (not possible here, or not allowed)"},
    }};
    for (const auto& [status, words] : kWords) {
        const int64_t count = count_if(summaries, [&](const Summary& s) { return has_status(s, status); });
        if (count > 0) reasons.push_back(counted(count) + words);
    }
}

Validity worst_of(const Summaries& summaries) {
    auto worst = Validity::valid;
    for (const auto& summary : summaries)
        if (is_measured(summary) || summary.validity == Validity::failed) worst = std::max(worst, summary.validity);
    return worst;
}

ExitCode exit_code_of(const Verdict& verdict, const Summaries& summaries, bool strict) {
    if (count_if(summaries, failed_verification) > 0) return ExitCode::verification;
    if (verdict.validity == Validity::failed) return ExitCode::failed;
    if (strict && verdict.validity == Validity::invalid && count_if(summaries, is_measured) > 0)
        return ExitCode::not_comparable;
    return summaries.empty() || count_if(summaries, is_partial) > 0 ? ExitCode::partial : ExitCode::ok;
}

}  // namespace

ImageVerdict judge_images(Summaries summaries) {
    int64_t unverified = 0;
    for (Summary& summary : summaries) {
        if (is_broken(summary)) summary.reasons = {"failed (see above)"};
        const bool is_only_unverified = is_measured(summary) && summary.reasons.size() == 1 &&
                                        summary.verification == record::Verification::Outcome::off;
        if (!is_only_unverified) continue;
        summary.validity = Validity::valid;
        summary.reasons.clear();
        ++unverified;
    }
    ImageVerdict images{.verdict = judge(summaries, false, "image")};
    if (!summaries.empty() && count_if(summaries, was_cut_short) == std::ssize(summaries)) {
        images.verdict.validity = Validity::valid;
        images.verdict.reasons.erase(images.verdict.reasons.begin());  // that there is none
    }
    if (unverified == 0) return images;
    images.is_unverified = images.verdict.validity == Validity::valid;
    images.verdict.reasons.push_back(Counter{summaries.size(), "image"}(unverified) + " not verified (--verify none)");
    return images;
}

Verdict judge(const Summaries& summaries, bool strict, std::string_view noun) {
    const Counter counted{summaries.size(), noun};
    Verdict verdict;
    verdict.validity = worst_of(summaries);
    if (const int64_t count = count_if(summaries, is_simulated_figure); count > 0)
        verdict.reasons.push_back(counted(count) + " SIMULATED (engine timed: no network ran)");
    add_reasons(
        summaries, counted, [](const Summary& s) { return s.validity == Validity::failed; }, verdict.reasons);
    add_reasons(
        summaries, counted, [](const Summary& s) { return is_measured(s) && s.validity == Validity::invalid; },
        verdict.reasons);
    if (count_if(summaries, is_measured) == 0) {
        verdict.validity = std::max(verdict.validity, Validity::invalid);
        verdict.reasons.push_back(fmt::format("no {} was {}", noun, noun == "image" ? "denoised" : "measured"));
    }
    if (const int64_t count = count_if(summaries, lacks_interval); strict && count > 0) {
        verdict.validity = std::max(verdict.validity, Validity::invalid);
        verdict.reasons.push_back(counted(count) +
                                  ": too few repetitions for an interval; set stop.min_reps to 6 or more");
    }
    add_partial(summaries, counted, verdict.reasons);
    verdict.exit_code = exit_code_of(verdict, summaries, strict);
    return verdict;
}

}  // namespace pb::measure
