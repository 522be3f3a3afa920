#include "report/findings_json.hpp"

#include "record/json.hpp"

namespace pb {

namespace {

template <class Values, class ToJson>
Json list(const Values& values, ToJson to_json) {
    Json all = Json::array();
    for (const auto& value : values) all.push_back(to_json(value));
    return all;
}

Json set_json(const PointSet& set) { return {{"key", set.key}, {"label", set.label}, {"points", set.points}}; }

Json jump_json(const MemoryJump& jump) {
    return {{"before", jump.before},
            {"after", jump.after},
            {"peak_ratio", number(jump.peak_ratio)},
            {"pixels_ratio", number(jump.pixels_ratio)},
            {"cause", name_of(jump.cause)},
            {"is_largest", jump.is_largest}};
}

Json width_series_json(const WidthSeries& series) {
    Json json = set_json(series.all);
    json["jumps"] = list(series.jumps, jump_json);
    return json;
}

Json roof_json(const std::optional<Roof>& roof) {
    if (!roof) return nullptr;
    return {{"tflops", number(roof->tflops)}, {"ridge_flop_per_byte", number(roof->ridge_flop_per_byte)}};
}

Json sample_json(const Roofline::Sample& sample) {
    return {
        {"point", sample.point}, {"flop_per_byte", number(sample.flop_per_byte)}, {"tflops", number(sample.tflops)}};
}

Json roofline_json(const Roofline& roofline) {
    return {{"device", name_of(roofline.device)},
            {"dtype", name_of(roofline.dtype)},
            {"copy_gb_per_s", number(roofline.copy_gb_per_s)},
            {"matmul", roof_json(roofline.matmul)},
            {"conv", roof_json(roofline.conv)},
            {"points", list(roofline.points, sample_json)}};
}

Json panel_json(const BatchPanel& panel) {
    Json json = set_json(panel.all);
    json["lines"] = list(panel.lines, set_json);
    json["limit_mib"] = number(panel.limit_mib);
    return json;
}

Json alternatives_json(const Alternatives& alternatives) {
    Json json = set_json(alternatives.all);
    json["by"] = name_of(alternatives.by);
    return json;
}

Json interval_json(const std::optional<Interval>& interval) {
    return interval ? Json{{"low", number(interval->low)}, {"high", number(interval->high)}} : Json(nullptr);
}

Json point_json(const PointFigures& figures) {
    Json shares = Json::object();
    for (const auto& [stage, share] : figures.stage_shares) shares[std::string(name_of(stage))] = number(share);
    return {{"point", figures.point},
            {"patches_per_s", interval_json(figures.patches_per_s)},
            {"images_per_s", interval_json(figures.images_per_s)},
            {"useful_mpx_per_s", interval_json(figures.useful_mpx_per_s)},
            {"stage_shares", shares}};
}

}  // namespace

void add_findings(const StudySummary& study, Json& line) {
    line["width_series"] = list(study.width_series, width_series_json);
    line["rooflines"] = list(study.rooflines, roofline_json);
    line["batch_panels"] = list(study.batch_panels, panel_json);
    line["alternatives"] = list(study.alternatives, alternatives_json);
    line["points"] = list(study.points, point_json);
}

}  // namespace pb
