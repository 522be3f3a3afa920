#include "config/settings_access.hpp"
#include "measure/summary_fields.hpp"
#include "network/graph_text.hpp"
#include "record/json_reader.hpp"
#include "report/metrics.hpp"
#include "report/results/json_values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::report {

namespace {

/// Returns a setting as the text that a study file would hold.
std::string setting_text(const record::JsonField& json) {
    const record::Json& value = json.json();
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_number() && !value.is_boolean()) json.fail("a setting is a text, a number, true or false");
    return value.dump();
}

/// `key` is dotted: image.noise_sigma is in the object `image`.
std::optional<record::JsonField> find_nested(const record::JsonField& object, std::string_view key) {
    const auto dot = key.find('.');
    if (dot == std::string_view::npos) return object.find(key);
    const auto group = object.find(key.substr(0, dot));
    return group ? find_nested(*group, key.substr(dot + 1)) : std::nullopt;
}

config::PointSettings settings_from(const record::JsonField& json) {
    config::PointSettings settings;
    for (const auto& key : config::point_keys()) {
        const auto value = find_nested(json, key);
        if (!value) continue;
        try {
            config::set_by_key(settings, key, setting_text(*value));
        } catch (const UsageError& error) {
            value->fail(error.what());
        }
    }
    return settings;
}

/// Calls `parse` with the text called `key`, where there is one; its errors name the place.
template <class Parse>
void parse_text(const record::JsonField& settled, const char* key, Parse parse) {
    const auto field = settled.find(key);
    if (!field) return;
    try {
        parse(field->text());
    } catch (const UsageError& error) {
        field->fail(error.what());
    }
}

void read_network(const record::JsonField& settled, plan::Point& point) {
    config::NetworkSetting& network = point.settings.network;
    parse_text(settled, "network", [&](const std::string& text) {
        if (network.is_custom())
            network.card = network::parse_network_card(text);
        else
            point.relative = network::parse_network_shape(network, point.source.channels, text);
    });
    parse_text(settled, "layers", [&](const std::string& text) {
        if (network.card) network.card->layers = network::parse_graph(text);
    });
}

plan::Point point_from_settings(const record::JsonField& line) {
    const record::JsonField settled = line["point"]["settled"];
    plan::Point point;
    point.index = line["index"].count();
    point.key = line["key"].text();
    point.settings = settings_from(line["point"]);
    point.uses_sigma = settled.find("sigma").has_value();
    const config::NoiseLevelSetting& asked =
        point.settings.sigma;  // part of the point's key, even when it has no effect
    point.sigma = asked.is_automatic() ? point.settings.image.noise_sigma : asked.level;
    record::JsonReader reader(settled);
    record::settled_fields(reader, point);
    read_network(settled, point);
    return point;
}

/// The ranks of a measured point have as many samples each: analyses read them side by side.
void check_samples(const record::JsonField& line, const record::PointTrace& trace) {
    if (trace.status != record::PointStatus::ok) return;
    for (const auto& rank : trace.ranks)
        if (const size_t count = trace.ranks.front().wall_s.size(); rank.wall_s.size() != count)
            line["samples"].fail(fmt::format("rank {} has {} repetitions, and rank {} has {}", rank.rank,
                                             rank.wall_s.size(), trace.ranks.front().rank, count));
}

record::PointTrace trace_from(const record::JsonField& line) {
    record::PointTrace trace;
    trace.point = point_from_settings(line);
    record::JsonReader reader(line);
    fields(reader, trace);
    check_samples(line, trace);
    return trace;
}

measure::RankSummary& rank_of(std::vector<measure::RankSummary>& ranks, int rank) {
    const auto found = std::ranges::find(ranks, rank, &measure::RankSummary::rank);
    if (found != ranks.end()) return *found;
    ranks.push_back({});
    ranks.back().rank = rank;
    return ranks.back();
}

void read_metrics(const record::JsonField& json, measure::Summary& summary) {
    for (const auto& metric : metrics())
        if (const auto value = json.find(metric.key)) metric.value.set(summary, value->number());
}

void read_summary(const record::JsonField& line, RecordedPoint& recorded) {
    measure::Summary& summary = recorded.summary;
    read(line["summary"], summary);
    summary.index = line["index"].count();
    summary.key = line["key"].text();
    summary.label = line["label"].text();
    summary.simulated = plan::is_simulated(recorded.trace.point);
    summary.status = recorded.trace.status;
    summary.verification = recorded.trace.verification.outcome;
    summary.reduction = recorded.trace.reduction;
    recorded.trace.stop_reason = summary.stop_reason;
    for (const auto& traced : recorded.trace.ranks)
        measure::take_raw_values(traced, rank_of(summary.ranks, traced.rank));
    read_metrics(line["summary"], summary);
}

}  // namespace

record::Environment environment_from(const record::JsonField& json) {
    record::Environment environment;
    read(json, environment);
    return environment;
}

measure::Verdict verdict_from(const record::JsonField& line) {
    measure::Verdict verdict;
    verdict.validity = line["verdict"].named<measure::Validity>();
    verdict.reasons = line["reasons"].texts();
    const int code = line["exit_code"].count();
    if (code > static_cast<int>(ExitCode::partial)) line["exit_code"].fail("no exit code of patchbench");
    verdict.exit_code = static_cast<ExitCode>(code);
    return verdict;
}

RecordedPoint point_from(const record::JsonField& line) {
    RecordedPoint recorded;
    recorded.trace = trace_from(line);
    read_summary(line, recorded);
    return recorded;
}

}  // namespace pb::report
