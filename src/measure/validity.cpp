// Decides whether the figures of a point may be compared, and gives the reasons if not.
#include "base/statistics.hpp"
#include "measure/trace_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pb::measure {

namespace {

std::string advice(record::PointStatus status) {
    switch (status) {
        case record::PointStatus::oom: return "out of memory; take a smaller batch or patch, or more ranks";
        case record::PointStatus::index_limit:
            return "a tensor has too many elements for 32-bit indices; take a smaller patch or image";
        case record::PointStatus::skipped: return "skipped; `run --resume` measures it (`bench` starts again)";
        case record::PointStatus::interrupted: return "interrupted; `run --resume` measures it (`bench` starts again)";
        case record::PointStatus::refused: return "refused";
        default: return "failed";
    }
}

void worsen(Summary& summary, Validity validity, std::string reason) {
    summary.validity = std::max(summary.validity, validity);
    summary.reasons.push_back(std::move(reason));
}

void rate_status(const record::PointTrace& trace, Summary& summary) {
    if (trace.status == record::PointStatus::ok) return;
    const auto validity = trace.status == record::PointStatus::failed ? Validity::failed : Validity::invalid;
    worsen(summary, validity, advice(trace.status) + (trace.reason.empty() ? "" : " (" + trace.reason + ")"));
}

/// What to do about a wrong output. Where no layers are known, the network's card was found by trying, or stated.
std::string remedy_of(const config::NetworkSetting& network) {
    const char* const check = "run `patchbench check` on these hosts";
    if (network.has_layers()) return check;
    return fmt::format("correct the card of {} (patchbench networks), or {}", network.file, check);
}

void rate_verification(const record::PointTrace& trace, Summary& summary) {
    const auto& verification = trace.verification;
    if (verification.outcome == record::Verification::Outcome::failed)
        worsen(summary, Validity::failed,
               fmt::format("the output is wrong: {}; do not use it, {}",
                           verification.reasons.empty() ? "verification failed"
                                                        : fmt::format("{}", fmt::join(verification.reasons, "; ")),
                           remedy_of(trace.point.settings.network)));
    if (verification.outcome == record::Verification::Outcome::off && trace.status == record::PointStatus::ok)
        worsen(summary, Validity::invalid, "not verified; set verify.mode to probes or full");
}

bool is_drifting(const record::PointTrace& trace) {
    return drifts(find_trend(trace.wall_s), drift_limit(trace.point.settings.protocol.rel_width));
}

/// The reason has the same text for all points, so that the verdict can count it.
void rate_trend(const record::PointTrace& trace, Summary& summary) {
    if (!summary.pipeline_s || !is_drifting(trace)) return;
    worsen(summary, Validity::invalid,
           "the repetitions get slower or faster with time (see drift); raise warmup.time_s, and keep other work off "
           "the machine; remeasure says how often it is tried");
}

/// Whether a rank took longer than the repetition, which ends when all ranks have.
bool is_shorter_than_a_rank(const record::PointTrace& trace) {
    constexpr double kRounding = 1e-6;  // of numbers in files
    return std::ranges::any_of(trace.ranks, [&](const record::RankTrace& rank) {
        const size_t count = std::min(rank.wall_s.size(), trace.wall_s.size());
        for (size_t i = 0; i < count; ++i)
            if (rank.wall_s[i] > trace.wall_s[i] * (1 + kRounding)) return true;
        return false;
    });
}

void rate_measurement(const record::PointTrace& trace, Summary& summary) {
    if (trace.status != record::PointStatus::ok) return;
    if (is_shorter_than_a_rank(trace))
        worsen(summary, Validity::invalid,
               "a rank took longer than the repetition that it is part of: a fault of metrics.reduction (MPI or NCCL); "
               "please report it");
    if (trace.wall_s.empty()) worsen(summary, Validity::invalid, "no repetition was timed; set stop.min_reps");
    if (trace.shared_device) worsen(summary, Validity::invalid, "ranks share a device; start one rank for each GPU");
    if (const auto reason = throttling_of(trace)) worsen(summary, Validity::invalid, *reason);
}

/// The processors went to others: what was timed is their work. Devices do not depend on it, simulated times are no
/// times of processors, and a single pass, as that of `denoise`, is a job and no measurement.
void rate_crowding(const record::PointTrace& trace, Summary& summary) {
    constexpr double kMostCrowding = 20;
    if (!summary.pipeline_s || trace.wall_s.size() < 2 || record::crowding_of(trace) < kMostCrowding) return;
    worsen(summary, Validity::invalid,
           "other processes had more than twenty times the CPU time of the ranks (see 'not measured alone'); measure "
           "again on a quiet machine");
}

/// The same seen from the ranks, whoever had the processors: a limit of a container leaves no trace of others.
void rate_core_share(const record::PointTrace& trace, Summary& summary) {
    constexpr double kLeastShare = 0.6;
    if (!summary.pipeline_s || trace.wall_s.size() < 2 || record::core_share_of(trace).value_or(1) >= kLeastShare)
        return;
    worsen(summary, Validity::invalid,
           "a rank had a core for less than 60 % of the time of its forward calls (see 'cores were short'); give each "
           "rank cores of its own, without a limit, and keep other work off the machine");
}

/// A median says little where the repetitions agree on nothing. Those of a short measurement are not judged. A single
/// one that is far from the others changes no median.
void rate_spread(const record::PointTrace& trace, Summary& summary) {
    constexpr double kMostRatio = 3, kLeastSeconds = 1;
    if (summary.simulated || !summary.pipeline_low_s) return;
    if (*summary.pipeline_high_s <= kMostRatio * *summary.pipeline_low_s) return;
    if (std::accumulate(trace.wall_s.begin(), trace.wall_s.end(), 0.0) < kLeastSeconds) return;
    std::vector<double> times = trace.wall_s;
    std::ranges::sort(times);
    if (times[times.size() - 2] <= kMostRatio * times[1]) return;  // but for one
    worsen(
        summary, Validity::invalid,
        "the upper end of the interval is more than three times the lower one: the repetitions differ too much for a "
        "figure; keep other work off the machine");
}

std::string signed_percent(double ratio) { return fmt::format("{:+.1f} %", 100 * ratio); }

/// Notes the discarded measurements, and the cause of drift that the kernels report for the one that was kept.
void note_measurements(const record::PointTrace& trace, Summary& summary) {
    const auto with_cause = [](const std::string& cause) {
        return cause.empty() ? "; the kernels name no cause" : "; meanwhile " + cause;
    };
    for (const auto& earlier : trace.discarded)
        summary.notes.push_back(fmt::format("measured again: the {} repetitions before drifted by {}{}",
                                            earlier.repetitions, signed_percent(earlier.drift),
                                            with_cause(earlier.cause)));
    if (is_drifting(trace))
        summary.notes.push_back(
            fmt::format("drifted by {} in the {} measurement{}", signed_percent(find_trend(trace.wall_s).drift),
                        trace.discarded.empty() ? "only" : "last", with_cause(record::disturbance_of(trace.ranks))));
    else if (const std::string foreign = record::foreign_work_of(trace.ranks); !foreign.empty())
        summary.notes.push_back("not measured alone: " + foreign);
}

void note_core_share(const record::PointTrace& trace, Summary& summary) {
    constexpr double kWorthNoting = 0.9;
    if (const auto share = record::core_share_of(trace); share && *share < kWorthNoting)
        summary.notes.push_back(fmt::format(
            "cores were short: a rank had one for {:.0f} % of the time of its forward calls (limits of a container, "
            "cores that ranks share, other processes)",
            std::floor(100 * *share + 1e-9)));  // 0.6 s of 0.8 s are 75 %
}

void note_stop(const record::PointTrace& trace, Summary& summary) {
    switch (summary.stop_reason) {
        case StopReason::interval:
            summary.notes.emplace_back("repeated until the interval was narrower than stop.rel_width");
            return;
        case StopReason::max_reps: summary.notes.emplace_back("repeated until stop.max_reps"); return;
        case StopReason::max_time:
            summary.notes.emplace_back(trace.point.settings.protocol.max_time_s > 0
                                           ? "repeated until stop.max_time_s"
                                           : "repeated stop.min_reps times, because stop.max_time_s is 0");
            return;
        case StopReason::none: return;
    }
}

/// Returns how much longer than the mean the busiest rank must take, by its number of batches.
double imbalance_of_split(const record::PointTrace& trace) {
    double most = 0, all = 0;
    for (const auto& rank : trace.ranks) {
        most = std::max(most, static_cast<double>(rank.num_batches));
        all += static_cast<double>(rank.num_batches);
    }
    return all > 0 ? most * static_cast<double>(trace.ranks.size()) / all : 1;
}

void note_imbalance(const record::PointTrace& trace, Summary& summary) {
    constexpr double kWorthNoting = 1.1;  // relative to what the split explains
    if (!summary.imbalance || !summary.slowest_rank) return;
    const double expected = imbalance_of_split(trace);
    if (*summary.imbalance < kWorthNoting * expected) return;
    const auto slowest = std::ranges::find(trace.ranks, *summary.slowest_rank, &record::RankTrace::rank);
    if (slowest == trace.ranks.end()) return;
    summary.notes.push_back(
        fmt::format("rank {}@{} is the slowest: {:.2f} x the mean of the ranks, of which the distribution of the "
                    "windows explains {:.2f}",
                    slowest->rank, slowest->host, *summary.imbalance, expected));
}

void note_outliers(Summary& summary) {
    if (summary.outlier_reps.empty()) return;
    summary.notes.push_back(fmt::format("{} of {} repetitions are outliers (kept; outlier_reps in results.jsonl)",
                                        summary.outlier_reps.size(), summary.repetitions));
}

void note_exchange(const record::PointTrace& trace, Summary& summary) {
    if (!trace.exchange || !summary.exchange_gb_per_s) return;
    std::string note = fmt::format("exchange between nodes by {}: {:.2f} MiB a pass at {:.2f} GB/s",
                                   trace.exchange->carrier, *summary.exchanged_mib, *summary.exchange_gb_per_s);
    if (summary.exchange_of_link_percent)
        note += fmt::format(", {} % of the link's {:.2f}", std::lround(*summary.exchange_of_link_percent),
                            *summary.link_gb_per_s);
    summary.notes.push_back(std::move(note));
}

void take_notes(const record::PointTrace& trace, Summary& summary) {
    summary.notes = trace.point.notes;
    if (!summary.pipeline_s) return;
    note_stop(trace, summary);
    note_measurements(trace, summary);
    note_core_share(trace, summary);
    for (auto& note : telemetry_notes(trace)) summary.notes.push_back(std::move(note));
    if (summary.repetitions < kMinRepetitionsForInterval)
        summary.notes.push_back(
            fmt::format("n = {} < 6 repetitions: no interval; raise stop.min_reps or stop.max_time_s for one",
                        summary.repetitions));
    note_outliers(summary);
    note_imbalance(trace, summary);
    note_exchange(trace, summary);
    if (std::string note = clean_image_note(trace); !note.empty()) summary.notes.push_back(std::move(note));
    if (std::string note = change_note(trace); !note.empty()) summary.notes.push_back(std::move(note));
    int64_t allocations = 0;
    for (const auto& rank : trace.ranks) allocations += rank.allocations;
    if (allocations > 0)
        summary.notes.push_back(fmt::format(
            "the engine allocated memory {} times inside timed repetitions; more warmup.reps may help", allocations));
}

}  // namespace

std::string clean_image_note(const record::PointTrace& trace) {
    constexpr double kLeastDb = 15;  // noise of a standard deviation of 0.18 that was not removed
    const config::PointSettings& settings = trace.point.settings;
    if (settings.image.clean.empty() || settings.output == config::OutputKind::checksum) return "";
    if (!trace.quality)
        return "no PSNR: no sample has data in the image and in the clean one (image.clean), or most "
               "samples of the image are far outside of [0, 1] (image.range)";
    if (trace.quality->psnr_denoised_db >= kLeastDb || std::isnan(trace.quality->psnr_denoised_db)) return "";
    return "a PSNR below 15 dB: the clean image (image.clean) seems to be another one, to be shifted or turned, or to "
           "have other units (image.range)";
}

std::string change_note(const record::PointTrace& trace) {
    constexpr double kFarInMean = 0.1;
    constexpr double kFarInRms = 0.25;  // with half of sigma: what noise does to samples that are clipped to [0,1]
    const config::PointSettings& settings = trace.point.settings;
    const bool is_untrained = !settings.network.is_custom() && config::is_seed(settings.weights);
    const double shift = trace.verification.mean_shift.value_or(0), change = trace.verification.rms_change.value_or(0);
    const double allowed = trace.point.sigma / 2;
    const bool is_shifted = std::abs(shift) > kFarInMean + allowed;
    if (is_untrained || plan::is_simulated(trace.point) || !(is_shifted || change > kFarInRms + allowed)) return "";
    const std::string what =
        is_shifted
            ? fmt::format("is {:.2g} of the range {} than the input", std::abs(shift),
                          shift < 0 ? "darker" : "brighter")
            : fmt::format("differs from the input by {:.2g} of the range (root mean square), more than noise does",
                          change);
    return fmt::format(
        "the output {}: the weights may be of another network than the one they were read as (models/README.md), or "
        "the samples have another range",
        what);
}

void rate_validity(const record::PointTrace& trace, Summary& summary) {
    rate_status(trace, summary);
    rate_verification(trace, summary);
    rate_measurement(trace, summary);
    rate_trend(trace, summary);
    rate_crowding(trace, summary);
    rate_core_share(trace, summary);
    rate_spread(trace, summary);
    take_notes(trace, summary);
}

}  // namespace pb::measure
