#include "measure/validity.hpp"

#include <algorithm>

namespace pb {

namespace {

std::string joined(const std::vector<std::string>& parts) {
    std::string all;
    for (const auto& part : parts) all += (all.empty() ? "" : "; ") + part;
    return all;
}

std::string advice(PointStatus status) {
    switch (status) {
        case PointStatus::oom:
            return "out of memory; take a smaller batch or patch, or more ranks";
        case PointStatus::index_limit:
            return "a tensor has too many elements for 32-bit indices; take a smaller patch or image";
        case PointStatus::skipped:
            return "skipped; run again with --resume";
        case PointStatus::interrupted:
            return "interrupted; run again with --resume";
        default:
            return "failed; see the reason and the messages on stderr";
    }
}

void worsen(Summary& summary, Validity validity, std::string reason) {
    summary.validity = std::max(summary.validity, validity);
    summary.reasons.push_back(std::move(reason));
}

void rate_status(const PointTrace& trace, Summary& summary) {
    if (trace.status == PointStatus::ok) return;
    const auto validity = trace.status == PointStatus::failed ? Validity::failed : Validity::invalid;
    worsen(summary, validity, advice(trace.status) + (trace.reason.empty() ? "" : " (" + trace.reason + ")"));
}

void rate_verification(const PointTrace& trace, Summary& summary) {
    const auto& verification = trace.verification;
    if (verification.outcome == Verification::Outcome::failed)
        worsen(summary, Validity::failed,
               "the output is wrong: " +
                   (verification.reasons.empty() ? "verification failed" : joined(verification.reasons)) +
                   "; do not use it, run `patchbench check` on these hosts");
    if (verification.outcome == Verification::Outcome::off && trace.status == PointStatus::ok)
        worsen(summary, Validity::invalid, "not verified; set verify.mode to probes or full");
}

void rate_measurement(const PointTrace& trace, Summary& summary) {
    if (trace.status != PointStatus::ok) return;
    if (trace.wall_s.empty()) worsen(summary, Validity::invalid, "no repetition was timed; set stop.min_reps");
    if (trace.shared_device) worsen(summary, Validity::invalid, "ranks share a device; start one rank for each GPU");
}

void take_notes(const PointTrace& trace, Summary& summary) {
    summary.notes = trace.point.notes;
    if (!summary.pipeline_s) return;
    if (summary.repetitions < kMinRepetitionsForInterval)
        summary.notes.push_back("n = " + std::to_string(summary.repetitions) +
                                " < 6 repetitions: no interval; raise stop.min_reps for one");
    int64_t allocations = 0;
    for (const auto& rank : trace.ranks) allocations += rank.allocations;
    if (allocations > 0)
        summary.notes.push_back("the engine allocated memory " + std::to_string(allocations) +
                                " times inside timed repetitions; more warmup.reps may help");
}

}  // namespace

void rate_validity(const PointTrace& trace, Summary& summary) {
    rate_status(trace, summary);
    rate_verification(trace, summary);
    rate_measurement(trace, summary);
    take_notes(trace, summary);
}

}  // namespace pb
