#include "report/json_values.hpp"

#include "measure/summary_fields.hpp"
#include "record/json_writer.hpp"
#include "report/metrics.hpp"

namespace pb {

namespace {

Json point_json(const Point& point) {
    Json all = settings_json(point.settings);
    JsonWriter settled(all["settled"]);
    settled_fields(settled, point);
    if (point.relative) all["settled"]["network"] = to_text(*point.relative);
    return all;
}

Json summary_json(const Summary& summary) {
    Json all = json_from(summary);
    for (const auto& metric : metrics()) all[metric.key] = number(metric.value(summary));
    return all;
}

}  // namespace

Json json_of(const Environment& environment) { return json_from(environment); }

Json json_of(const BatchSearch& search) { return json_from(search); }

Json json_of(const PointTrace& trace, const Summary& summary) {
    Json line{{"type", "point"},
              {"key", summary.key},
              {"index", summary.index},
              {"label", summary.label},
              {"point", point_json(trace.point)}};
    JsonWriter writer(line);
    fields(writer, trace);
    line["summary"] = summary_json(summary);
    return line;
}

Json json_of(const Verdict& verdict) {
    return {{"verdict", name_of(verdict.validity)},
            {"reasons", verdict.reasons},
            {"exit_code", static_cast<int>(verdict.exit_code)}};
}

}  // namespace pb
