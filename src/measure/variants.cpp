#include "measure/variants.hpp"

#include "measure/comparison.hpp"
#include "measure/point_figures.hpp"
#include "measure/point_groups.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>

namespace pb::measure {

namespace {

std::optional<double> ratio(const std::optional<double>& above, const std::optional<double>& below) {
    return above && below && *below > 0 ? std::optional(*above / *below) : std::nullopt;
}

std::string variant_of(VariedBy by, const plan::Point& point) {
    return std::string(by == VariedBy::dtype ? name_of(point.settings.dtype) : name_of(point.device));
}

bool is_base(VariedBy by, const plan::Point& point) {
    return by == VariedBy::dtype ? point.settings.dtype == Precision::fp32 : point.device == DeviceKind::cpu;
}

/// A measured point of a study: its trace and its summary.
struct Measured {
    const record::PointTrace& trace;
    const Summary& summary;
};

Variant compare(VariedBy by, const Measured& base, const Measured& other) {
    Variant variant;
    variant.point = other.summary.index;
    variant.variant = variant_of(by, other.trace.point);
    const auto times = compare_times({base.trace.wall_s}, {other.trace.wall_s});
    variant.speedup = 1 / times.ratio;
    if (times.ratio_interval) variant.range = Interval{1 / times.ratio_interval->high, 1 / times.ratio_interval->low};
    variant.forward_speedup = ratio(base.summary.forward_s, other.summary.forward_s);
    variant.memory_ratio = ratio(other.summary.allocated_peak_mib, base.summary.allocated_peak_mib);
    variant.max_difference = other.summary.window_error;
    variant.every_window = other.trace.point.settings.protocol.verify == config::VerifyMode::full;
    if (base.summary.psnr_denoised_db && other.summary.psnr_denoised_db)
        variant.psnr_loss_db = *base.summary.psnr_denoised_db - *other.summary.psnr_denoised_db;
    return variant;
}

VariantGroup describe_base(VariedBy by, const std::string& label, const Measured& base) {
    VariantGroup group;
    group.by = by;
    group.label = label;
    group.base = base.summary.index;
    group.base_variant = variant_of(by, base.trace.point);
    group.base_pipeline_s = base.summary.pipeline_s;
    group.base_interval = pipeline_interval(base.summary);
    group.base_patches_per_s = base.summary.patches_per_s;
    group.base_peak_mib = base.summary.allocated_peak_mib;
    return group;
}

int64_t fastest_of(const std::vector<Variant>& points) {
    return std::max_element(points.begin(), points.end(),
                            [](const Variant& a, const Variant& b) { return a.speedup < b.speedup; })
        ->point;
}

}  // namespace

std::vector<VariantGroup> compare_variants(VariedBy by, const std::vector<record::PointTrace>& traces,
                                           const std::vector<Summary>& summaries) {
    require(traces.size() == summaries.size(), "compare_variants: every trace needs its summary");
    std::vector<VariantGroup> all;
    for (const auto& points : group_points(traces, name_of(by))) {
        const auto is_measured = [&](size_t i) { return summaries[i].pipeline_s.has_value(); };
        const auto base = std::find_if(points.members.begin(), points.members.end(),
                                       [&](size_t i) { return is_base(by, traces[i].point) && is_measured(i); });
        if (base == points.members.end()) continue;
        const Measured held{traces[*base], summaries[*base]};
        VariantGroup group = describe_base(by, points.label, held);
        for (const size_t i : points.members)
            if (is_measured(i) && !is_base(by, traces[i].point))
                group.points.push_back(compare(by, held, {traces[i], summaries[i]}));
        if (group.points.empty()) continue;
        group.fastest = fastest_of(group.points);
        all.push_back(std::move(group));
    }
    return all;
}

}  // namespace pb::measure
