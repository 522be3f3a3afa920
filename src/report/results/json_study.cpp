// Writes a StudySummary as JSON.
#include "record/json_writer.hpp"
#include "report/results/json_values.hpp"

namespace pb::report {

namespace {

record::Json low(const std::optional<Interval>& interval) {
    return interval ? record::number(interval->low) : record::Json(nullptr);
}
record::Json high(const std::optional<Interval>& interval) {
    return interval ? record::number(interval->high) : record::Json(nullptr);
}

record::Json curve_json(const std::optional<measure::BatchCurve>& curve) {
    if (!curve) return nullptr;
    record::Json parameters = record::Json::object();
    for (const auto& parameter : curve->parameters)
        parameters[parameter.name] = {{"value", record::number(parameter.value)},
                                      {"low", low(parameter.interval)},
                                      {"high", high(parameter.interval)}};
    return {{"formula", name_of(curve->form)},
            {"parameters", parameters},
            {"batches", record::array_of(curve->fitted, [](const auto& time) { return record::Json(time.batch); })},
            {"residuals", record::array_of(curve->residuals, [](double residual) { return record::number(residual); })},
            {"rms_residual", record::number(curve->rms_residual)},
            {"aicc", record::number(curve->aicc)},
            {"line", record::array_of(curve->line,
                                      [](const measure::CurvePoint& point) {
                                          return record::Json{{"batch", record::number(point.batch)},
                                                              {"window_s", record::number(point.window_s)},
                                                              {"low_s", low(point.band)},
                                                              {"high_s", high(point.band)}};
                                      })},
            {"notes", curve->notes}};
}

record::Json times_json(const measure::BatchTimes& times) {
    return {{"label", times.label},
            {"scope", name_of(times.scope)},
            {"samples", record::array_of(times.samples,
                                         [](const measure::BatchTimes::Sample& sample) {
                                             return record::Json{{"point", sample.point},
                                                                 {"batch", sample.batch},
                                                                 {"window_s", record::number(sample.window_s)},
                                                                 {"low_s", low(sample.interval)},
                                                                 {"high_s", high(sample.interval)}};
                                         })},
            {"fastest_batch", times.fit.fastest_batch},
            {"sufficient_batch", times.fit.sufficient_batch},
            {"sufficient_words", times.fit.sufficient_words},
            {"better_form", name_of(times.fit.better)},
            {"comparison", times.fit.comparison},
            {"left_arm", curve_json(times.fit.left_arm)},
            {"falling", curve_json(times.fit.falling)},
            {"rising", curve_json(times.fit.rising)}};
}

record::Json fit_json(const std::optional<measure::MemoryFit>& fit) {
    if (!fit) return nullptr;
    return {{"base_mib", record::number(fit->base_mib)},
            {"per_window_mib", record::number(fit->per_window_mib)},
            {"largest_deviation", record::number(fit->largest_deviation)},
            {"largest_deviation_batch", fit->largest_deviation_batch}};
}

record::Json memory_json(const measure::BatchMemory& memory) {
    return {{"label", memory.label},
            {"samples", record::array_of(memory.samples,
                                         [](const measure::BatchMemory::Sample& sample) {
                                             return record::Json{{"point", sample.point},
                                                                 {"batch", sample.batch},
                                                                 {"peak_mib", record::number(sample.peak_mib)}};
                                         })},
            {"fit", fit_json(memory.fit)},
            {"limit_mib", record::number(memory.limit_mib)},
            {"predicted_batch", record::json_from(memory.predicted_batch)}};
}

record::Json largest_json(const measure::LargestBatch& largest) {
    return {{"point", largest.point},
            {"label", largest.label},
            {"search", record::json_from(largest.search)},
            {"limit_mib", record::number(largest.limit_mib)},
            {"fit", fit_json(largest.fit)},
            {"predicted_batch", record::json_from(largest.predicted_batch)},
            {"prediction_error", record::number(largest.prediction_error)}};
}

record::Json variant_json(const measure::Variant& point) {
    return {{"point", point.point},
            {"variant", point.variant},
            {"speedup", record::number(point.speedup)},
            {"speedup_low", low(point.range)},
            {"speedup_high", high(point.range)},
            {"forward_speedup", record::number(point.forward_speedup)},
            {"memory_ratio", record::number(point.memory_ratio)},
            {"max_difference", record::number(point.max_difference)},
            {"every_window", point.every_window},
            {"psnr_loss_db", record::number(point.psnr_loss_db)}};
}

record::Json group_json(const measure::VariantGroup& group) {
    return {{"by", name_of(group.by)},
            {"label", group.label},
            {"base",
             {{"point", group.base},
              {"variant", group.base_variant},
              {"pipeline_s", record::number(group.base_pipeline_s)},
              {"low_s", low(group.base_interval)},
              {"high_s", high(group.base_interval)},
              {"patches_per_s", record::number(group.base_patches_per_s)},
              {"peak_mib", record::number(group.base_peak_mib)}}},
            {"points", record::array_of(group.points, variant_json)},
            {"fastest", group.fastest}};
}

record::Json recommendation_json(const measure::Recommendation& recommendation) {
    return {{"label", recommendation.label},
            {"points", recommendation.points},
            {"point", record::json_from(recommendation.point)},
            {"why", recommendation.reason}};
}

record::Json parts_json(const measure::ScalingPoint& point) {
    record::Json parts = record::Json::object();
    for (const auto& [name, part] : point.parts) parts[name] = record::number(part);
    return parts;
}

record::Json waiting_json(const measure::ScalingPoint& point) {
    return record::array_of(point.waiting, [](const measure::RankWaiting& each) {
        return record::Json{{"rank", each.rank}, {"waiting_s", record::number(each.waiting_s)}};
    });
}

record::Json scaling_point_json(const measure::ScalingPoint& point) {
    return {{"point", point.point},
            {"num_ranks", point.num_ranks},
            {"pipeline_s", record::number(point.pipeline_s)},
            {"low_s", low(point.pipeline_range)},
            {"high_s", high(point.pipeline_range)},
            {"speedup", record::number(point.speedup)},
            {"speedup_low", low(point.speedup_range)},
            {"speedup_high", high(point.speedup_range)},
            {"ideal", record::number(point.ideal)},
            {"bound", record::number(point.bound)},
            {"efficiency", record::number(point.efficiency)},
            {"efficiency_low", low(point.efficiency_range)},
            {"efficiency_high", high(point.efficiency_range)},
            {"efficiency_bound", record::number(point.efficiency_bound)},
            {"of_bound", record::number(point.of_bound)},
            {"simulated_s", record::number(point.simulated_s)},
            {"beyond_bound", record::number(point.beyond_bound)},
            {"overhead_per_window_s", record::number(point.overhead_per_window_s)},
            {"between_s", record::number(point.between_s)},
            {"host_cores", record::number(point.host_cores)},
            {"cpu_per_patch_s", record::number(point.cpu_per_patch_s)},
            {"host_peak_mib", record::number(point.host_peak_mib)},
            {"parts", parts_json(point)},
            {"ranks", waiting_json(point)},
            {"binding", point.binding}};
}

record::Json scaling_json(const measure::Scaling& scaling) {
    return {{"kind", name_of(scaling.kind)},
            {"label", scaling.label},
            {"simulated", scaling.simulated},
            {"points", record::array_of(scaling.points, scaling_point_json)},
            {"warnings", scaling.warnings}};
}

}  // namespace

record::Json json_of(const measure::StudySummary& study) {
    record::Json all{{"type", "study_summary"},
                     {"recommendations", record::array_of(study.recommendations, recommendation_json)},
                     {"batch_times", record::array_of(study.batch_times, times_json)},
                     {"batch_memory", record::array_of(study.batch_memory, memory_json)},
                     {"largest_batches", record::array_of(study.largest_batches, largest_json)},
                     {"variants", record::array_of(study.variants, group_json)},
                     {"scalings", record::array_of(study.scalings, scaling_json)}};
    add_findings(study, all);
    return all;
}

}  // namespace pb::report
