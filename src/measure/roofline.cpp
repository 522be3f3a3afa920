#include "measure/roofline.hpp"

#include "base/engine_precision.hpp"
#include "network/native_layout.hpp"
#include "plan/winograd.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>

namespace pb::measure {

namespace {

constexpr double kGigaPerTera = 1e3;

/// Lowers `least` to `value`, if there is a value.
void lower(std::optional<double>& least, const std::optional<double>& value) {
    if (value) least = least ? std::min(*least, *value) : *value;
}

/// Collects the least bounds of the points added so far.
struct LeastBounds {
    std::optional<double> matmul, conv, copy;

    void add(const record::BoundsRecord& bounds) {
        lower(matmul, bounds[record::Bound::matmul_tflops]);
        lower(conv, bounds[record::Bound::conv_tflops]);
        lower(copy, bounds[record::Bound::device_copy_gb_per_s]);
    }
};

std::optional<Roof> roof_of(const std::optional<double>& tflops, double copy_gb_per_s) {
    return tflops ? std::optional(Roof{*tflops, *tflops * kGigaPerTera / copy_gb_per_s}) : std::nullopt;
}

bool is_bounded(const Summary& summary) {
    const auto copy = summary.bounds[record::Bound::device_copy_gb_per_s];
    return summary.pipeline_s && summary.forward_tflops.value_or(0) > 0 && summary.executed_tflops && copy && *copy > 0;
}

}  // namespace

double flop_per_pixel(const plan::Point& point) { return 2 * point.facts().mac_per_pixel; }

double executed_flop_per_pixel(const plan::Point& point) {
    if (point.settings.engine != EngineKind::native) return flop_per_pixel(point);
    return network::native_flop_per_pixel(point.graph(), plan::winograd_form(point));
}

double bytes_per_pixel(const plan::Point& point) {
    return point.facts().values_per_pixel *
           static_cast<double>(size_of(storage_of(point.settings.engine, point.settings.dtype)));
}

std::vector<Roofline> find_rooflines(const std::vector<record::PointTrace>& traces,
                                     const std::vector<Summary>& summaries) {
    require(traces.size() == summaries.size(), "find_rooflines: every trace needs its summary");
    std::vector<Roofline> all;
    std::vector<LeastBounds> bounds;  // one for each roofline
    for (size_t i = 0; i < traces.size(); ++i) {
        if (!is_bounded(summaries[i])) continue;
        const plan::Point& point = traces[i].point;
        auto roofline = std::find_if(all.begin(), all.end(), [&](const Roofline& one) {
            return one.device == point.device && one.dtype == point.settings.dtype;
        });
        const auto place = static_cast<size_t>(roofline - all.begin());
        if (roofline == all.end()) {
            all.push_back({point.device, point.settings.dtype, 0, {}, {}, {}});
            bounds.emplace_back();
        }
        all[place].points.push_back({.point = summaries[i].index,
                                     .flop_per_byte = flop_per_pixel(point) / bytes_per_pixel(point),
                                     .executed_flop_per_byte = executed_flop_per_pixel(point) / bytes_per_pixel(point),
                                     .tflops = *summaries[i].forward_tflops,
                                     .executed_tflops = *summaries[i].executed_tflops});
        bounds[place].add(summaries[i].bounds);
    }
    for (size_t i = 0; i < all.size(); ++i) {
        all[i].copy_gb_per_s = bounds[i].copy.value();
        all[i].matmul = roof_of(bounds[i].matmul, all[i].copy_gb_per_s);
        all[i].conv = roof_of(bounds[i].conv, all[i].copy_gb_per_s);
    }
    return all;
}

}  // namespace pb::measure
