#include "measure/study/batch_curve.hpp"
#include "plan/memory_limit.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pb::measure {

namespace {

// The same limit as for `batch: auto`: a smaller gain is not worth the memory of a larger batch.
constexpr double kWorthwhile = 1.03;
// A difference of Akaike's criterion of 2 ln 10: one form is then ten times as likely as the other.
constexpr double kTellingDifference = 4.6;
// With fewer points, the correction for small samples outweighs the data.
constexpr size_t kTellingPoints = 8;

std::string percent(double ratio) { return fmt::format("{:.1f} %", 100 * ratio); }

void compare_forms(BatchFit& fit) {
    if (!fit.falling || !fit.rising || !fit.falling->aicc || !fit.rising->aicc) {
        fit.comparison = "too few batches to compare the two forms; this needs 8 or more";
        return;
    }
    const double gain = *fit.falling->aicc - *fit.rising->aicc;
    const bool enough = fit.rising->fitted.size() >= kTellingPoints;
    const char* better = gain > 0 ? "with" : "without";
    fit.comparison = fmt::format(
        "AICc is smaller by {:.1f} {} the term d b; root mean square residual {} with it, {} without: ", std::abs(gain),
        better, percent(fit.rising->rms_residual), percent(fit.falling->rms_residual));
    if (!enough) {
        fit.comparison += fmt::format("{} batches cannot tell, 8 or more can", fit.rising->fitted.size());
    } else if (std::abs(gain) < kTellingDifference) {
        fit.comparison += fmt::format("the data cannot tell (below {:.1f})", kTellingDifference);
    } else {
        fit.better = gain > 0 ? BetterForm::rising : BetterForm::falling;
        fit.comparison += gain > 0 ? "the time rises again, and the data can tell" : "no rise that the data can tell";
    }
}

void find_sufficient(const std::vector<BatchTime>& times, BatchFit& fit) {
    const BatchTime fastest = *std::ranges::min_element(times, {}, &BatchTime::window_s);
    BatchTime taken = fastest;
    int64_t largest = fastest.batch;
    for (const auto& time : times) {
        if (time.batch < taken.batch && time.window_s <= fastest.window_s * kWorthwhile) taken = time;
        largest = std::max(largest, time.batch);
    }
    fit.fastest_batch = fastest.batch;
    fit.sufficient_batch = taken.batch;
    const bool is_smallest = std::ranges::none_of(times, [&](const auto& t) { return t.batch < taken.batch; });
    const std::string smaller = is_smallest ? "no smaller one was measured" : "every smaller one loses more than 3 %";
    fit.sufficient_words = taken.batch == fastest.batch
                               ? "the fastest; " + smaller
                               : fmt::format("{} slower than the fastest ({}) with less memory; {}",
                                             percent(taken.window_s / fastest.window_s - 1), fastest.batch, smaller);
    if (fastest.batch == largest && times.size() > 1)
        fit.sufficient_words += "; the fastest is the largest batch measured, so a larger one may be faster";
}

}  // namespace

BatchFit fit_batches(const std::vector<BatchTime>& times) {
    require(!times.empty(), "no batch was measured");
    BatchFit fit;
    find_sufficient(times, fit);
    std::vector<BatchTime> left;
    for (const auto& time : times)
        if (time.batch <= fit.fastest_batch) left.push_back(time);
    fit.left_arm = fit_batch_curve(CurveForm::falling, std::move(left));
    fit.falling = fit_batch_curve(CurveForm::falling, times);
    fit.rising = fit_batch_curve(CurveForm::rising, times);
    compare_forms(fit);
    return fit;
}

std::optional<int64_t> MemoryFit::largest_batch(double limit_mib) const {
    constexpr double kRounding = 1e-9;  // of a fit through equal peaks
    if (per_window_mib <= kRounding * base_mib) return std::nullopt;
    return std::max<int64_t>(0, static_cast<int64_t>(std::floor((limit_mib - base_mib) / per_window_mib)));
}

std::optional<double> memory_limit_of(const plan::Point& point, const plan::Topology& topology) {
    const int64_t cap_mib = point.settings.memory_limit_mib;
    if (cap_mib > 0) return static_cast<double>(cap_mib);
    const double device_mib = plan::device_mib(point, topology);
    return device_mib > 0 ? std::optional(device_mib) : std::nullopt;
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
