#include "measure/memory_fit.hpp"

#include <algorithm>
#include <cmath>

namespace pb::measure {

std::optional<int64_t> MemoryFit::largest_batch(double limit_mib) const {
    if (per_window_mib <= 0) return std::nullopt;
    return std::max<int64_t>(0, static_cast<int64_t>(std::floor((limit_mib - base_mib) / per_window_mib)));
}

std::optional<double> memory_limit_of(const plan::Point& point, const plan::Topology& topology) {
    const int64_t cap_mib = point.settings.memory_limit_mib;
    if (cap_mib > 0) return static_cast<double>(cap_mib);
    if (point.device != DeviceKind::cuda) return std::nullopt;
    std::optional<double> smallest;
    for (const auto& place : topology.ranks) {
        if (place.rank >= point.num_ranks || place.memory_bytes <= 0) continue;
        const double mib = static_cast<double>(place.memory_bytes) / kMiB;
        smallest = smallest ? std::min(*smallest, mib) : mib;
    }
    return smallest;
}

std::optional<MemoryFit> fit_memory(const std::vector<BatchPeak>& peaks) {
    const auto n = static_cast<double>(peaks.size());
    double mean_batch = 0, mean_peak = 0;
    for (const auto& [batch, peak_mib] : peaks) {
        mean_batch += static_cast<double>(batch) / n;
        mean_peak += peak_mib / n;
    }
    double spread = 0, together = 0;
    for (const auto& [batch, peak_mib] : peaks) {
        const double offset = static_cast<double>(batch) - mean_batch;
        spread += offset * offset;
        together += offset * (peak_mib - mean_peak);
    }
    if (spread <= 0) return std::nullopt;
    MemoryFit fit;
    fit.per_window_mib = together / spread;
    fit.base_mib = mean_peak - fit.per_window_mib * mean_batch;
    for (const auto& [batch, peak_mib] : peaks) {
        const double deviation =
            std::abs(peak_mib - fit.base_mib - fit.per_window_mib * static_cast<double>(batch)) / peak_mib;
        if (deviation < fit.largest_deviation) continue;
        fit.largest_deviation = deviation;
        fit.largest_deviation_batch = batch;
    }
    return fit;
}

}  // namespace pb::measure
