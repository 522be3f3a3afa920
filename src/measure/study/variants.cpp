#include "measure/study/variants.hpp"

#include "config/text.hpp"
#include "measure/comparison.hpp"
#include "measure/point_figures.hpp"
#include "measure/study/point_groups.hpp"

#include <algorithm>

namespace pb::measure {

namespace {

bool is_base(VariedBy by, const plan::Point& point) {
    if (by == VariedBy::dtype) return point.settings.dtype == Precision::fp32;
    if (by == VariedBy::device) return point.device == DeviceKind::cpu;
    return point.settings.engine == EngineKind::torch;
}

/// Simulated devices are no engine to compare with.
bool is_comparable(VariedBy by, const Summary& summary) {
    return summary.pipeline_s.has_value() && !(by == VariedBy::engine && summary.simulated);
}

std::vector<PointGroup> groups_of(VariedBy by, const StudyPoints& points) {
    return by == VariedBy::engine ? group_points(points, kEngineSettings) : group_points(points, name_of(by));
}

/// Allocators of different engines count different things, so their processes are compared.
std::optional<double> peak_of(VariedBy by, const Summary& summary) {
    return by == VariedBy::engine ? summary.engine_peak_mib : summary.allocated_peak_mib;
}

Variant compare(VariedBy by, const StudyPoint& base, const StudyPoint& other) {
    Variant variant;
    variant.point = other.summary->index;
    variant.variant = variant_of(by, other.trace->point);
    const auto times = compare_times({base.trace->wall_s}, {other.trace->wall_s});
    variant.speedup = 1 / times.ratio;
    if (times.ratio_interval) variant.range = 1 / *times.ratio_interval;
    variant.forward_speedup = quotient(base.summary->forward_s, other.summary->forward_s);
    variant.memory_ratio = quotient(peak_of(by, *other.summary), peak_of(by, *base.summary));
    variant.max_difference = other.summary->window_error;
    variant.every_window = other.trace->point.settings.protocol.verify == config::VerifyMode::full;
    if (base.summary->psnr_denoised_db && other.summary->psnr_denoised_db)
        variant.psnr_loss_db = *base.summary->psnr_denoised_db - *other.summary->psnr_denoised_db;
    return variant;
}

VariantGroup describe_base(VariedBy by, const std::string& label, const StudyPoint& base) {
    VariantGroup group;
    group.by = by;
    group.label = label;
    group.base = base.summary->index;
    group.base_variant = variant_of(by, base.trace->point);
    group.base_pipeline_s = base.summary->pipeline_s;
    group.base_interval = pipeline_interval(*base.summary);
    group.base_patches_per_s = base.summary->patches_per_s;
    group.base_peak_mib = peak_of(by, *base.summary);
    return group;
}

}  // namespace

std::string variant_of(VariedBy by, const plan::Point& point) {
    const config::PointSettings& settings = point.settings;
    if (by == VariedBy::dtype) return std::string(name_of(settings.dtype));
    if (by == VariedBy::device) return std::string(name_of(point.device));
    const std::string& options = settings.worker.options;
    return config::format_setting(settings.engine) + (options.empty() ? "" : " " + options);
}

std::vector<VariantGroup> compare_variants(VariedBy by, const StudyPoints& points) {
    std::vector<VariantGroup> all;
    for (const auto& [key, label, members] : groups_of(by, points)) {
        const auto is_measured = [&](size_t i) { return is_comparable(by, *points[i].summary); };
        const auto base = std::ranges::find_if(
            members, [&](size_t i) { return is_base(by, points[i].trace->point) && is_measured(i); });
        if (base == members.end()) continue;
        VariantGroup group = describe_base(by, label, points[*base]);
        for (const size_t i : members)
            if (is_measured(i) && !is_base(by, points[i].trace->point))
                group.points.push_back(compare(by, points[*base], points[i]));
        if (group.points.empty()) continue;
        group.fastest = std::ranges::max_element(group.points, {}, &Variant::speedup)->point;
        all.push_back(std::move(group));
    }
    return all;
}

}  // namespace pb::measure
