// Writes a StudySummary as JSON.
#include "report/results/json_values.hpp"

namespace pb::report {

namespace {

template <class Value>
record::Json optional(const std::optional<Value>& value) {
    if constexpr (std::is_integral_v<Value>)
        return value ? record::Json(*value) : record::Json(nullptr);
    else
        return value ? record::number(*value) : record::Json(nullptr);
}

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
            {"aicc", optional(curve->aicc)},
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
                                                                 {"batch", sample.peak.batch},
                                                                 {"peak_mib", record::number(sample.peak.peak_mib)}};
                                         })},
            {"fit", fit_json(memory.fit)},
            {"limit_mib", optional(memory.limit_mib)},
            {"predicted_batch", optional(memory.predicted_batch)}};
}

record::Json largest_json(const measure::LargestBatch& largest) {
    return {{"point", largest.point},
            {"label", largest.label},
            {"search", json_of(largest.search)},
            {"limit_mib", optional(largest.limit_mib)},
            {"fit", fit_json(largest.fit)},
            {"predicted_batch", optional(largest.predicted_batch)},
            {"prediction_error", optional(largest.prediction_error)}};
}

record::Json variant_json(const measure::Variant& point) {
    return {{"point", point.point},
            {"variant", point.variant},
            {"speedup", optional(point.speedup)},
            {"speedup_low", low(point.range)},
            {"speedup_high", high(point.range)},
            {"forward_speedup", optional(point.forward_speedup)},
            {"memory_ratio", optional(point.memory_ratio)},
            {"max_difference", optional(point.max_difference)},
            {"every_window", point.every_window},
            {"psnr_loss_db", optional(point.psnr_loss_db)}};
}

record::Json group_json(const measure::VariantGroup& group) {
    return {{"by", name_of(group.by)},
            {"label", group.label},
            {"base",
             {{"point", group.base},
              {"variant", group.base_variant},
              {"pipeline_s", optional(group.base_pipeline_s)},
              {"low_s", low(group.base_interval)},
              {"high_s", high(group.base_interval)},
              {"patches_per_s", optional(group.base_patches_per_s)},
              {"peak_mib", optional(group.base_peak_mib)}}},
            {"points", record::array_of(group.points, variant_json)},
            {"fastest", group.fastest}};
}

record::Json recommendation_json(const measure::Recommendation& recommendation) {
    return {{"label", recommendation.label},
            {"points", recommendation.points},
            {"point", optional(recommendation.point)},
            {"why", recommendation.reason}};
}

}  // namespace

record::Json json_of(const measure::StudySummary& study) {
    record::Json all{{"type", "study_summary"},
                     {"recommendations", record::array_of(study.recommendations, recommendation_json)},
                     {"batch_times", record::array_of(study.batch_times, times_json)},
                     {"batch_memory", record::array_of(study.batch_memory, memory_json)},
                     {"largest_batches", record::array_of(study.largest_batches, largest_json)},
                     {"variants", record::array_of(study.variants, group_json)},
                     {"scalings", record::array_of(study.scalings,
                                                   [](const measure::Scaling& scaling) { return json_of(scaling); })}};
    add_findings(study, all);
    return all;
}

}  // namespace pb::report
