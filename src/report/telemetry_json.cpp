#include "report/telemetry_json.hpp"

#include "report/json_number.hpp"

#include <algorithm>

namespace pb {

namespace {

/// One array a gauge, as long as `at_s`, null where it was not read; null for one that never was.
Json samples_json(const TelemetryRecord& record) {
    Json all{{"at_s", Json::array()}};
    for (const auto& sample : record.samples) all["at_s"].push_back(sample.at_s);
    for (const auto& [gauge, name] : EnumNames<Gauge>::names) {
        Json& values = all[std::string(name)] = nullptr;
        const auto was_read = [gauge = gauge](const TelemetrySample& sample) { return sample[gauge].has_value(); };
        if (std::none_of(record.samples.begin(), record.samples.end(), was_read)) continue;
        for (const auto& sample : record.samples) values.push_back(number(sample[gauge]));
    }
    return all;
}

bool says_nothing(const RankTrace& rank) {
    const auto& meters = rank.telemetry.meters;
    return rank.telemetry.samples.empty() &&
           std::none_of(meters.begin(), meters.end(), [](const auto& meter) { return meter.has_value(); });
}

}  // namespace

Json discarded_json(const PointTrace& trace) {
    Json all = Json::array();
    for (const auto& earlier : trace.discarded)
        all.push_back(Json{{"repetitions", earlier.repetitions},
                           {"pipeline_s", number(earlier.pipeline_s)},
                           {"drift", number(earlier.drift)},
                           {"cause", earlier.cause.empty() ? Json(nullptr) : Json(earlier.cause)}});
    return all;
}

Json telemetry_json(const PointTrace& trace) {
    if (std::all_of(trace.ranks.begin(), trace.ranks.end(), says_nothing)) return nullptr;
    Json ranks = Json::array();
    for (const auto& rank : trace.ranks) {
        Json line{{"rank", rank.rank}};
        for (const auto& [meter, name] : EnumNames<Meter>::names)
            line[std::string(name)] = number(rank.telemetry[meter]);
        line["samples"] = samples_json(rank.telemetry);
        ranks.push_back(line);
    }
    return {{"ranks", ranks}};
}

Json bounds_json(const PointTrace& trace) {
    Json ranks = Json::array();
    bool measured = false;
    for (const auto& rank : trace.ranks) {
        Json line{{"rank", rank.rank}};
        for (const auto& [bound, name] : EnumNames<Bound>::names) line[std::string(name)] = number(rank.bounds[bound]);
        ranks.push_back(line);
        measured = measured || !rank.bounds.empty();
    }
    return measured ? Json{{"ranks", ranks}} : Json(nullptr);
}

}  // namespace pb
