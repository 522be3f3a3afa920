// Writes the scaling over ranks as JSON.
#include "report/json_values.hpp"

namespace pb {

namespace {

Json low_of(const std::optional<Interval>& interval) { return interval ? number(interval->low) : Json(nullptr); }
Json high_of(const std::optional<Interval>& interval) { return interval ? number(interval->high) : Json(nullptr); }

Json parts_json(const ScalingPoint& point) {
    Json parts = Json::object();
    for (const auto& [name, part] : point.parts) parts[name] = number(part);
    return parts;
}

Json waiting_json(const ScalingPoint& point) {
    Json ranks = Json::array();
    for (const auto& [rank, waiting_s] : point.waiting)
        ranks.push_back(Json{{"rank", rank}, {"waiting_s", number(waiting_s)}});
    return ranks;
}

Json scaling_point_json(const ScalingPoint& point) {
    return {{"point", point.point},
            {"num_ranks", point.num_ranks},
            {"pipeline_s", number(point.pipeline_s)},
            {"low_s", low_of(point.pipeline_range)},
            {"high_s", high_of(point.pipeline_range)},
            {"speedup", number(point.speedup)},
            {"speedup_low", low_of(point.speedup_range)},
            {"speedup_high", high_of(point.speedup_range)},
            {"ideal", number(point.ideal)},
            {"bound", number(point.bound)},
            {"efficiency", number(point.efficiency)},
            {"efficiency_low", low_of(point.efficiency_range)},
            {"efficiency_high", high_of(point.efficiency_range)},
            {"efficiency_bound", number(point.efficiency_bound)},
            {"of_bound", number(point.of_bound)},
            {"simulated_s", number(point.simulated_s)},
            {"beyond_bound", number(point.beyond_bound)},
            {"overhead_per_window_s", number(point.overhead_per_window_s)},
            {"between_s", number(point.between_s)},
            {"host_cores", number(point.host_cores)},
            {"cpu_per_patch_s", number(point.cpu_per_patch_s)},
            {"host_peak_mib", number(point.host_peak_mib)},
            {"parts", parts_json(point)},
            {"ranks", waiting_json(point)},
            {"binding", point.binding}};
}

}  // namespace

Json json_of(const Scaling& scaling) {
    Json points = Json::array();
    for (const auto& point : scaling.points) points.push_back(scaling_point_json(point));
    return {{"kind", name_of(scaling.kind)},
            {"label", scaling.label},
            {"simulated", scaling.simulated},
            {"points", points},
            {"warnings", scaling.warnings}};
}

}  // namespace pb
