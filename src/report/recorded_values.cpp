#include "report/recorded_values.hpp"

#include "report/metrics.hpp"

#include <algorithm>
#include <cmath>

namespace pb {

namespace {

std::optional<int> optional_rank(const JsonField& object, const char* key) {
    const auto field = object.find(key);
    return field ? std::optional(field->count()) : std::nullopt;
}

RankPlace place_from(const JsonField& json) {
    RankPlace place;
    place.rank = json["rank"].count();
    place.host = json["host"].text();
    place.node = json["node"].count();
    place.local_rank = json["local_rank"].count();
    place.device = {json["device"].named<DeviceKind>(), json["device_index"].count()};
    place.device_name = json["device_name"].text_or_empty();
    place.device_uuid = json["device_uuid"].text_or_empty();
    place.pci_bus_id = json["pci_bus_id"].text_or_empty();
    place.affinity = json["affinity"].text_or_empty();
    place.num_cores = json["num_cores"].count();
    place.threads = json["threads"].count();
    const double memory_mib = json["memory_mib"].number_or_none().value_or(0);
    constexpr double kLargestMib = 1e12;
    if (!(memory_mib >= 0 && memory_mib < kLargestMib)) json["memory_mib"].fail("no memory is that large");
    place.memory_bytes = std::llround(memory_mib * kMiB);
    return place;
}

RankSummary& rank_of(std::vector<RankSummary>& ranks, int rank) {
    const auto found = std::find_if(ranks.begin(), ranks.end(), [&](const RankSummary& r) { return r.rank == rank; });
    if (found != ranks.end()) return *found;
    ranks.push_back({});
    ranks.back().rank = rank;
    return ranks.back();
}

void read_ranks(const JsonField& line, Summary& summary) {
    for (const auto& memory : line["memory"]["ranks"].items()) {
        RankSummary& rank = rank_of(summary.ranks, memory["rank"].count());
        rank.allocated_peak_mib = memory["allocated_peak_mib"].number_or_none();
        rank.reserved_peak_mib = memory["reserved_peak_mib"].number_or_none();
        rank.device_used_mib = memory["device_used_mib"].number_or_none();
        rank.host_peak_mib = memory["host_peak_mib"].number_or_none();
    }
    const auto rates = line["summary"].find("ranks");
    if (!rates) return;
    for (const auto& rate : rates->items()) {
        RankSummary& rank = rank_of(summary.ranks, rate["rank"].count());
        rank.num_patches = rate["num_patches"].count();
        rank.patches_per_s = rate["patches_per_s"].number_or_none();
        rank.wall_s = rate["wall_s"].number_or_none();
    }
}

void read_metrics(const JsonField& json, RecordedPoint& point) {
    for (const auto& [key, value] : json.entries())
        if (value.json().is_number()) point.metrics[key] = value.number();
    for (const char* rank : {"slowest_rank", "allocated_peak_rank"}) point.metrics.erase(rank);
    for (const auto& metric : metrics())
        if (const auto value = json.find(metric.key)) metric.value.set(point.summary, value->number());
}

std::optional<Bottleneck> bottleneck_from(const JsonField& summary) {
    const auto json = summary.find("bottleneck");
    if (!json) return std::nullopt;
    Bottleneck bottleneck;
    bottleneck.limit = (*json)["class"].named<Limit>();
    bottleneck.share = (*json)["share"].number();
    bottleneck.evidence = (*json)["evidence"].text();
    bottleneck.advice = (*json)["advice"].text();
    for (const auto& loss : (*json)["losses"].items())
        bottleneck.losses.push_back({loss["class"].named<Limit>(), loss["share"].number()});
    return bottleneck;
}

void read_summary(const JsonField& line, RecordedPoint& recorded) {
    const JsonField json = line["summary"];
    Summary& summary = recorded.summary;
    summary.index = line["index"].count();
    summary.key = line["key"].text();
    summary.label = line["label"].text();
    summary.simulated = is_simulated(recorded.trace.point);
    summary.status = line["status"].named<PointStatus>();
    summary.verification = recorded.trace.verification.outcome;
    summary.validity = json["validity"].named<Validity>();
    summary.reasons = json["reasons"].texts();
    summary.notes = json["notes"].texts();
    summary.reduction = line["reduction"].text_or_empty();
    summary.stop_reason = recorded.trace.stop_reason;
    if (const auto reps = json.find("outlier_reps"))
        for (const auto& rep : reps->items()) summary.outlier_reps.push_back(static_cast<size_t>(rep.count()));
    summary.slowest_rank = optional_rank(json, "slowest_rank");
    summary.allocated_peak_rank = optional_rank(json, "allocated_peak_rank");
    if (const auto context = json.find("context"))
        for (const auto& [name, value] : context->entries()) summary.context.emplace_back(name, value.text());
    summary.bottleneck = bottleneck_from(json);
    read_ranks(line, summary);
    read_metrics(json, recorded);
}

}  // namespace

Environment environment_from(const JsonField& json) {
    Environment environment;
    environment.started_at = json["started_at"].text();
    environment.command_line = json["command_line"].text();
    environment.version = json["version"].text();
    environment.git_sha = json["git_sha"].text();
    environment.git_dirty = json["git_dirty"].boolean();
    environment.compiler = json["compiler"].text();
    environment.build_type = json["build_type"].text();
    for (const auto& library : json["libraries"].items())
        environment.libraries.push_back(
            {library["name"].text(), library["header"].text_or_empty(), library["loaded"].text_or_empty()});
    for (const auto& [name, value] : json["variables"].entries())
        environment.variables.emplace_back(name, value.text());
    environment.host_processor = json["host_processor"].text_or_empty();
    for (const auto& rank : json["ranks"].items()) environment.topology.ranks.push_back(place_from(rank));
    return environment;
}

Verdict verdict_from(const JsonField& line) {
    Verdict verdict;
    verdict.validity = line["verdict"].named<Validity>();
    verdict.reasons = line["reasons"].texts();
    const int code = line["exit_code"].count();
    if (code > static_cast<int>(ExitCode::partial)) line["exit_code"].fail("no exit code of patchbench");
    verdict.exit_code = static_cast<ExitCode>(code);
    return verdict;
}

RecordedPoint point_from(const JsonField& line) {
    RecordedPoint recorded;
    recorded.trace = trace_from(line);
    read_summary(line, recorded);
    return recorded;
}

}  // namespace pb
