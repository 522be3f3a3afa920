// Writes the figures of a StudySummary that charts are drawn from as JSON.
#include "record/json.hpp"
#include "report/results/json_values.hpp"

namespace pb::report {

namespace {

record::Json set_json(const measure::PointSet& set) {
    return {{"key", set.key}, {"label", set.label}, {"points", set.points}};
}

record::Json jump_json(const measure::MemoryJump& jump) {
    return {{"before", jump.before},
            {"after", jump.after},
            {"peak_ratio", record::number(jump.peak_ratio)},
            {"pixels_ratio", record::number(jump.pixels_ratio)},
            {"cause", name_of(jump.cause)},
            {"is_largest", jump.is_largest}};
}

record::Json width_series_json(const measure::WidthSeries& series) {
    record::Json json = set_json(series.all);
    json["jumps"] = record::array_of(series.jumps, jump_json);
    return json;
}

record::Json roof_json(const std::optional<measure::Roof>& roof) {
    if (!roof) return nullptr;
    return {{"tflops", record::number(roof->tflops)},
            {"ridge_flop_per_byte", record::number(roof->ridge_flop_per_byte)}};
}

record::Json sample_json(const measure::Roofline::Sample& sample) {
    return {{"point", sample.point},
            {"flop_per_byte", record::number(sample.flop_per_byte)},
            {"executed_flop_per_byte", record::number(sample.executed_flop_per_byte)},
            {"tflops", record::number(sample.tflops)},
            {"executed_tflops", record::number(sample.executed_tflops)}};
}

record::Json roofline_json(const measure::Roofline& roofline) {
    return {{"device", name_of(roofline.device)},
            {"dtype", name_of(roofline.dtype)},
            {"copy_gb_per_s", record::number(roofline.copy_gb_per_s)},
            {"matmul", roof_json(roofline.matmul)},
            {"conv", roof_json(roofline.conv)},
            {"points", record::array_of(roofline.points, sample_json)}};
}

record::Json layer_json(const measure::LayerShare& layer) {
    return {{"layer", layer.layer},
            {"operation", layer.operation},
            {"seconds", record::number(layer.seconds)},
            {"share", record::number(layer.share)},
            {"flop", record::number(layer.flop)},
            {"executed_flop", record::number(layer.executed_flop)},
            {"bytes", record::number(layer.bytes)},
            {"of_bound", record::number(layer.of_bound)}};
}

record::Json profile_json(const measure::PointProfile& profile) {
    return {{"point", profile.point},
            {"rank", profile.rank},
            {"calls", profile.calls},
            {"windows", profile.windows},
            {"forward_s", record::number(profile.forward_s)},
            {"layers", record::array_of(profile.layers, layer_json)},
            {"other_s", record::number(profile.other_s)}};
}

record::Json panel_json(const measure::BatchPanel& panel) {
    record::Json json = set_json(panel.all);
    json["lines"] = record::array_of(panel.lines, set_json);
    json["limit_mib"] = record::number(panel.limit_mib);
    return json;
}

record::Json alternatives_json(const measure::Alternatives& alternatives) {
    record::Json json = set_json(alternatives.all);
    json["by"] = name_of(alternatives.by);
    return json;
}

record::Json interval_json(const std::optional<Interval>& interval) {
    return interval ? record::Json{{"low", record::number(interval->low)}, {"high", record::number(interval->high)}}
                    : record::Json(nullptr);
}

record::Json point_json(const measure::PointFigures& figures) {
    record::Json shares = record::Json::object();
    for (const auto& [stage, share] : figures.stage_shares) shares[std::string(name_of(stage))] = record::number(share);
    return {{"point", figures.point},
            {"patches_per_s", interval_json(figures.patches_per_s)},
            {"images_per_s", interval_json(figures.images_per_s)},
            {"useful_mpx_per_s", interval_json(figures.useful_mpx_per_s)},
            {"stage_shares", shares}};
}

}  // namespace

void add_findings(const measure::StudySummary& study, record::Json& line) {
    line["width_series"] = record::array_of(study.width_series, width_series_json);
    line["rooflines"] = record::array_of(study.rooflines, roofline_json);
    line["profiles"] = record::array_of(study.profiles, profile_json);
    line["batch_panels"] = record::array_of(study.batch_panels, panel_json);
    line["alternatives"] = record::array_of(study.alternatives, alternatives_json);
    line["points"] = record::array_of(study.points, point_json);
}

}  // namespace pb::report
