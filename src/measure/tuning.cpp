#include "measure/tuning.hpp"

#include "config/text.hpp"
#include "measure/study/recommendation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace pb::measure {

namespace {

constexpr int64_t kFirstEdge = 256;
constexpr int64_t kLastEdge = 1024;
constexpr double kMostPixels = 1.5;  // of the fewest that the same engine and precision need
constexpr size_t kKeptOf = 3;        // one of so many stays in
constexpr size_t kLeastKept = 2;

/// Candidates with one of these differ only in how the image is cut.
auto family_of(const TuningTrial& trial) {
    const config::PointSettings& settings = trial.candidate.settings;
    return std::pair(EngineKind{settings.engine}, settings.dtype);
}

bool was_measured(const TuningTrial& trial, int64_t edge) { return trial.is_in() && trial.edge == edge && trial.job_s; }

bool enters(const TuningTrial& trial, int64_t edge) { return trial.is_in() && trial.candidate.least_edge <= edge; }

bool is_faster(const TuningTrial& a, const TuningTrial& b) {
    constexpr double kUnknown = std::numeric_limits<double>::infinity();
    return a.job_s.value_or(kUnknown) < b.job_s.value_or(kUnknown);
}

/// Why the result of a trial does not count; empty: it does.
std::string find_fault(const record::PointTrace& trace, const Summary& summary, const std::optional<double>& loss_db,
                       double max_loss_db) {
    constexpr size_t kLongest = 120;  // characters: an engine may say pages
    if (trace.status != record::PointStatus::ok)
        return fmt::format("{}: {}", name_of(trace.status), trace.reason.substr(0, kLongest));
    if (trace.verification.outcome != record::Verification::Outcome::passed)
        return trace.verification.reasons.empty() ? "its pixels were not verified"
                                                  : "wrong pixels: " + trace.verification.reasons.front();
    if (!summary.pipeline_s || *summary.pipeline_s <= 0) return "it was not timed";
    if (const auto seam = visible_seams(trace); seam && trace.num_patches > 1)
        return fmt::format("visible seams ({:.2g})", *seam);
    if (!loss_db) return "its PSNR is unknown";
    if (!(*loss_db <= max_loss_db)) return fmt::format("loses {:.3f} dB, more than {:g}", *loss_db, max_loss_db);
    return "";
}

/// Drops what waits for a larger crop where others of its family were measured and all of them are out.
void drop_kin_of_the_lost(TuningTrials& trials) {
    for (TuningTrial& trial : trials) {
        const auto was_tried = [&](const TuningTrial& other) {
            return other.edge > 0 && family_of(other) == family_of(trial);
        };
        const auto leads = [&](const TuningTrial& other) { return was_tried(other) && other.is_in(); };
        if (trial.is_in() && trial.edge == 0 && std::ranges::any_of(trials, was_tried) &&
            std::ranges::none_of(trials, leads))
            trial.dropped = "others of its kind are out";
    }
}

}  // namespace

std::vector<int64_t> tuning_edges(Extent image) {
    const int64_t longest = std::max(image.h, image.w);
    std::vector<int64_t> edges{kFirstEdge};
    while (edges.back() < kLastEdge && edges.back() < longest) edges.push_back(2 * edges.back());
    return edges;
}

int64_t least_edge(int64_t patch, int64_t batch, int ranks, int64_t most) {
    int64_t patches = 1;  // along each axis
    while (patches * patches < batch * ranks && patches * patch < most) ++patches;
    return std::min(most, patches * patch);
}

void drop_by_arithmetic(TuningTrials& trials, const TuningLimits& limits) {
    const auto limit = static_cast<double>(limits.memory_limit_mib);
    for (TuningTrial& trial : trials)
        if (trial.is_in() && limit > 0 && trial.candidate.peak_mib > limit)
            trial.dropped = fmt::format("needs {:.0f} MiB", trial.candidate.peak_mib);
    const auto fits = [&](const TuningTrial& trial) {
        return trial.is_in() && (limit == 0 || trial.candidate.peak_mib > 0);
    };
    for (TuningTrial& trial : trials) {
        double least = trial.candidate.computed_pixels;
        for (const TuningTrial& other : trials)
            if (fits(other) && family_of(other) == family_of(trial))
                least = std::min(least, other.candidate.computed_pixels);
        const double share = trial.candidate.computed_pixels / least;
        if (trial.is_in() && share > kMostPixels) trial.dropped = fmt::format("{:.3g} x the arithmetic", share);
    }
}

std::vector<size_t> entrants(const TuningTrials& trials, int64_t edge) {
    std::vector<size_t> order;
    for (size_t i = 0; i < trials.size(); ++i)
        if (enters(trials[i], edge)) order.push_back(i);
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return is_faster(trials[a], trials[b]); });
    return order;
}

void take_result(TuningTrial& trial, int64_t edge, const record::PointTrace& trace, double reference_psnr_db,
                 const TuningLimits& limits) {
    const Summary summary = summarise(trace);
    trial.edge = edge;
    trial.peak_mib = summary.allocated_peak_mib;
    trial.psnr_loss_db.reset();
    if (summary.psnr_denoised_db) trial.psnr_loss_db = reference_psnr_db - *summary.psnr_denoised_db;
    if (summary.pipeline_s && record::computed_pixels(trace) > 0)
        trial.job_s = *summary.pipeline_s * trial.candidate.computed_pixels / record::computed_pixels(trace);
    trial.dropped = find_fault(trace, summary, trial.psnr_loss_db, limits.max_psnr_loss_db);
    // Engines in a process of their own are capped by what a call adds, and have no prediction.
    const auto limit = static_cast<double>(limits.memory_limit_mib);
    if (trial.is_in() && limit > 0 && trial.peak_mib.value_or(0) > limit)
        trial.dropped = fmt::format("took {:.0f} MiB", *trial.peak_mib);
}

void halve(TuningTrials& trials, int64_t edge) {
    std::vector<TuningTrial*> measured;
    for (TuningTrial& trial : trials) {
        if (was_measured(trial, edge))
            measured.push_back(&trial);
        else if (enters(trial, edge) && trial.edge == 0)
            trial.dropped = "not reached";
    }
    std::ranges::stable_sort(measured, [](const TuningTrial* a, const TuningTrial* b) { return is_faster(*a, *b); });
    const size_t kept = std::max<size_t>(kLeastKept, (measured.size() + kKeptOf - 1) / kKeptOf);
    for (size_t i = kept; i < measured.size(); ++i) measured[i]->dropped = "slower";
    drop_kin_of_the_lost(trials);
}

std::optional<size_t> find_fastest(const TuningTrials& trials) {
    std::optional<size_t> best;
    for (size_t i = 0; i < trials.size(); ++i) {
        const TuningTrial& trial = trials[i];
        if (!trial.is_in() || !trial.job_s) continue;
        if (!best || trial.edge > trials[*best].edge ||
            (trial.edge == trials[*best].edge && is_faster(trial, trials[*best])))
            best = i;
    }
    return best;
}

std::string why_nothing_fits(const TuningTrials& trials, const TuningLimits& limits) {
    if (limits.memory_limit_mib == 0) return "";
    const TuningTrial* least = nullptr;
    bool has_unknown = false;
    for (const TuningTrial& trial : trials) {
        const double needed = trial.candidate.peak_mib;
        if (needed == 0) has_unknown = true;
        if (needed > 0 && (least == nullptr || needed < least->candidate.peak_mib)) least = &trial;
    }
    if (least == nullptr || least->candidate.peak_mib <= static_cast<double>(limits.memory_limit_mib)) return "";
    const config::PointSettings& settings = least->candidate.settings;
    return fmt::format("nothing {} {} MiB: engine {} in {} with patch {} and halo {} needs least{}, {:.0f} MiB",
                       has_unknown ? "qualifies within" : "fits into", limits.memory_limit_mib,
                       name_of(EngineKind{settings.engine}), name_of(settings.dtype), settings.patch,
                       config::format_setting(settings.halo), has_unknown ? " of all that can be predicted" : "",
                       std::ceil(least->candidate.peak_mib));
}

}  // namespace pb::measure
