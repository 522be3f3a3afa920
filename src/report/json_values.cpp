#include "report/json_values.hpp"

#include "measure/summary_fields.hpp"
#include "network/graph_text.hpp"
#include "record/json_writer.hpp"
#include "report/metrics.hpp"

namespace pb::report {

namespace {

record::Json point_json(const plan::Point& point) {
    record::Json all = settings_json(point.settings);
    record::JsonWriter settled(all["settled"]);
    record::settled_fields(settled, point);
    if (const auto& card = point.settings.network.card) {
        all["settled"]["network"] = network::to_text(*card);
        if (card->layers) all["settled"]["layers"] = network::line_of(*card->layers);
    }
    if (point.relative) all["settled"]["network"] = network::to_text(*point.relative);
    return all;
}

record::Json summary_json(const measure::Summary& summary) {
    record::Json all = record::json_from(summary);
    for (const auto& metric : metrics()) all[metric.key] = record::number(metric.value(summary));
    return all;
}

}  // namespace

record::Json json_of(const record::Environment& environment) { return record::json_from(environment); }

record::Json json_of(const record::BatchSearch& search) { return record::json_from(search); }

record::Json json_of(const record::PointTrace& trace, const measure::Summary& summary) {
    record::Json line{{"type", "point"},
                      {"key", summary.key},
                      {"index", summary.index},
                      {"label", summary.label},
                      {"point", point_json(trace.point)}};
    record::JsonWriter writer(line);
    fields(writer, trace);
    line["summary"] = summary_json(summary);
    return line;
}

record::Json json_of(const measure::Verdict& verdict) {
    return {{"verdict", name_of(verdict.validity)},
            {"reasons", verdict.reasons},
            {"exit_code", static_cast<int>(verdict.exit_code)}};
}

}  // namespace pb::report
