#include "report/results/json_values.hpp"

#include "config/text.hpp"
#include "measure/study/study_fields.hpp"
#include "measure/summary_fields.hpp"
#include "network/graph_text.hpp"
#include "record/json_writer.hpp"
#include "report/metrics.hpp"

#include <algorithm>
#include <type_traits>

namespace pb::report {

namespace {

/// Turns "image.noise_sigma" into the JSON pointer /image/noise_sigma.
record::Json::json_pointer place_of(std::string_view key) {
    std::string path = "/";
    path += key;
    std::ranges::replace(path, '.', '/');
    return record::Json::json_pointer(path);
}

/// A setting as a JSON value of its own type: a number where there is one, else a text.
template <class Value>
record::Json setting_value(const Value& value) {
    if constexpr (std::is_arithmetic_v<Value>)
        return value;
    else if constexpr (requires { value.number(); })
        return value.number() ? record::Json(*value.number()) : record::Json(config::format_setting(value));
    else
        return config::format_setting(value);
}

/// Returns a visitor that adds the settings it is given.
auto into(record::Json& all) {
    return
        [&all](const config::FieldName& field, const auto& value) { all[place_of(field.key)] = setting_value(value); };
}

record::Json point_json(const plan::Point& point) {
    record::Json all = settings_json(point.settings);
    record::JsonWriter settled(all["settled"]);
    record::settled_fields(settled, point);
    all["settled"]["fused"] = plan::is_fused(point);
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

record::Json settings_json(const config::PointSettings& settings) {
    record::Json all;
    config::point_fields(settings, into(all));
    return all;
}

record::Json settings_json(const config::StudySettings& settings) {
    record::Json all;
    config::study_fields(settings, into(all));
    return all;
}

record::Json setting_in(const record::Json& settings, std::string_view key) {
    const auto place = place_of(key);
    return settings.contains(place) ? settings[place] : record::Json{};
}

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

record::Json json_of(const measure::StudySummary& study) {
    record::Json line{{"type", "study_summary"}};
    record::JsonWriter writer(line);
    fields(writer, study);
    return line;
}

record::Json json_of(const measure::Verdict& verdict) {
    return {{"verdict", name_of(verdict.validity)},
            {"reasons", verdict.reasons},
            {"exit_code", static_cast<int>(verdict.exit_code)}};
}

std::string line_of(const record::Json& value) {
    return value.dump(-1, ' ', false, record::Json::error_handler_t::replace);
}

std::string recorded_text(const std::string& text) { return record::Json::parse(line_of(text)).get<std::string>(); }

std::string json_text(const record::Json& value) {
    return value.dump(1, ' ', false, record::Json::error_handler_t::replace) + "\n";
}

}  // namespace pb::report
