#include "app/denoise/dry_run.hpp"

#include "plan/prediction.hpp"
#include "run/point/settle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pb::app {

namespace {

/// The point with the smallest halo and batch that a search may find.
plan::Point with_least(plan::Point point) {
    if (!point.halo) plan::settle_halo(point, run::has_seams(point) ? point.facts().alignment : 0);
    if (!point.batch) plan::settle_batch(point, 1);
    return point;
}

}  // namespace

void PlannedNeeds::add(const plan::Point& point, int64_t times) {
    passes += times;
    const auto needs = plan::predict(with_least(point));
    if (!needs) {
        unknown += times;
        return;
    }
    constexpr double kTera = 1e12;
    if (!point.halo || !point.batch) bounded += times;
    tflop += static_cast<double>(times) * needs->flop / kTera;
    peak_mib = std::max(peak_mib, needs->peak_mib);
}

void PlannedNeeds::operator+=(const PlannedNeeds& other) {
    passes += other.passes;
    unknown += other.unknown;
    bounded += other.bounded;
    tflop += other.tflop;
    peak_mib = std::max(peak_mib, other.peak_mib);
}

std::string PlannedNeeds::memory_note(const plan::Point& point) const {
    const auto limit = static_cast<double>(point.settings.memory_limit_mib);
    const double most = limit > 0 ? limit : point.most_mib;
    if (most == 0 || peak_mib <= most) return "";
    return fmt::format("that is more than the {:.0f} MiB that a rank may take", std::floor(most));
}

std::string PlannedNeeds::text() const {
    if (unknown == passes) return "memory and arithmetic are not known, as the layers of the network";
    const char* const bound = unknown + bounded > 0 ? "at least " : "";
    std::string text = fmt::format("predicted: {}{:.4g} TFLOP", bound, tflop);
    if (peak_mib > 0) text += fmt::format(", peak {}{:.0f} MiB a rank", bound, std::ceil(peak_mib));
    return text;
}

}  // namespace pb::app
