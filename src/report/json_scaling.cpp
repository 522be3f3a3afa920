// Writes the scaling over ranks as JSON.
#include "report/json_values.hpp"

namespace pb::report {

namespace {

record::Json low_of(const std::optional<Interval>& interval) {
    return interval ? record::number(interval->low) : record::Json(nullptr);
}
record::Json high_of(const std::optional<Interval>& interval) {
    return interval ? record::number(interval->high) : record::Json(nullptr);
}

record::Json parts_json(const measure::ScalingPoint& point) {
    record::Json parts = record::Json::object();
    for (const auto& [name, part] : point.parts) parts[name] = record::number(part);
    return parts;
}

record::Json waiting_json(const measure::ScalingPoint& point) {
    record::Json ranks = record::Json::array();
    for (const auto& [rank, waiting_s] : point.waiting)
        ranks.push_back(record::Json{{"rank", rank}, {"waiting_s", record::number(waiting_s)}});
    return ranks;
}

record::Json scaling_point_json(const measure::ScalingPoint& point) {
    return {{"point", point.point},
            {"num_ranks", point.num_ranks},
            {"pipeline_s", record::number(point.pipeline_s)},
            {"low_s", low_of(point.pipeline_range)},
            {"high_s", high_of(point.pipeline_range)},
            {"speedup", record::number(point.speedup)},
            {"speedup_low", low_of(point.speedup_range)},
            {"speedup_high", high_of(point.speedup_range)},
            {"ideal", record::number(point.ideal)},
            {"bound", record::number(point.bound)},
            {"efficiency", record::number(point.efficiency)},
            {"efficiency_low", low_of(point.efficiency_range)},
            {"efficiency_high", high_of(point.efficiency_range)},
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

}  // namespace

record::Json json_of(const measure::Scaling& scaling) {
    record::Json points = record::Json::array();
    for (const auto& point : scaling.points) points.push_back(scaling_point_json(point));
    return {{"kind", name_of(scaling.kind)},
            {"label", scaling.label},
            {"simulated", scaling.simulated},
            {"points", points},
            {"warnings", scaling.warnings}};
}

}  // namespace pb::report
