// A point's line back to its PointTrace: member by member what json_values.cpp writes.
#include "config/settings_access.hpp"
#include "report/drawings_json.hpp"
#include "report/recorded_values.hpp"

#include <fmt/format.h>

#include <cmath>

namespace pb {

namespace {

int count_from(const JsonField& field, int least) {
    const int value = field.count();
    if (value < least) field.fail(fmt::format("at least {} is expected here", least));
    return value;
}

std::optional<int64_t> optional_integer(const JsonField& object, const char* key) {
    const auto field = object.find(key);
    return field ? std::optional(field->integer()) : std::nullopt;
}

std::optional<int64_t> optional_count(const JsonField& object, const char* key, int least) {
    const auto field = object.find(key);
    return field ? std::optional<int64_t>(count_from(*field, least)) : std::nullopt;
}

std::optional<double> optional_number(const JsonField& object, std::string_view key) {
    const auto field = object.find(key);
    return field ? std::optional(field->number()) : std::nullopt;
}

double number_or_zero(const JsonField& object, const char* key) { return optional_number(object, key).value_or(0); }

/// A setting as the text that the study file would hold.
std::string setting_text(const JsonField& json) {
    const Json& value = json.json();
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_number() && !value.is_boolean()) json.fail("a setting is a text, a number, true or false");
    return value.dump();
}

/// `key` is dotted: image.noise_sigma stands in the object `image`.
std::optional<JsonField> find_nested(const JsonField& object, std::string_view key) {
    const auto dot = key.find('.');
    if (dot == std::string_view::npos) return object.find(key);
    const auto group = object.find(key.substr(0, dot));
    return group ? find_nested(*group, key.substr(dot + 1)) : std::nullopt;
}

PointSettings settings_from(const JsonField& json) {
    PointSettings settings;
    for (const auto& key : point_keys()) {
        const auto value = find_nested(json, key);
        if (!value) continue;
        try {
            set_by_key(settings, key, setting_text(*value));
        } catch (const UsageError& error) {
            value->fail(error.what());
        }
    }
    return settings;
}

Point point_from_settings(const JsonField& line) {
    const JsonField settled = line["point"]["settled"];
    Point point;
    point.index = line["index"].count();
    point.key = line["key"].text();
    point.settings = settings_from(line["point"]);
    point.device = settled["device"].named<DeviceKind>();
    point.num_ranks = count_from(settled["num_ranks"], 1);
    point.halo = optional_count(settled, "halo_px", 0);
    point.batch = optional_count(settled, "batch", 1);
    const auto sigma = optional_number(settled, "sigma");
    point.uses_sigma = sigma.has_value();
    const NoiseLevelSetting& asked = point.settings.sigma;  // which the point's key holds, effect or not
    point.sigma = sigma.value_or(asked.is_automatic() ? point.settings.image.noise_sigma : asked.level);
    point.source.extent = {count_from(settled["image_height_px"], 1), count_from(settled["image_width_px"], 1)};
    point.source.channels = count_from(settled["image_channels"], 1);
    if (const auto shape = settled.find("network")) try {
            point.relative = parse_network_shape(point.settings.network, point.source.channels, shape->text());
        } catch (const UsageError& error) {
            shape->fail(error.what());
        }
    return point;
}

std::optional<Prediction> prediction_from(const JsonField& line) {
    const auto json = line.find("prediction");
    if (!json) return std::nullopt;
    return Prediction{.pixels_per_forward = (*json)["pixels_per_forward"].integer(),
                      .peak_mib = number_or_zero(*json, "peak_mib"),
                      .flop = number_or_zero(*json, "flop"),
                      .flop_busiest_rank = number_or_zero(*json, "flop_busiest_rank")};
}

void read_stages(const JsonField& json, RankTrace& rank) {
    rank.stage_s.assign(rank.wall_s.size(), StageSeconds{});
    for (const auto& [name, samples] : json.entries()) {
        const std::vector<double> seconds = samples.numbers();
        if (seconds.size() != rank.stage_s.size()) samples.fail("needs a number for each repetition");
        for (const auto& [stage, known] : EnumNames<Stage>::names)
            for (size_t i = 0; known == name && i < seconds.size(); ++i)
                rank.stage_s[i][static_cast<size_t>(stage)] = seconds[i];
    }
}

RankTrace rank_from(const JsonField& json) {
    RankTrace rank;
    rank.rank = json["rank"].count();
    rank.num_windows = json["num_windows"].count();
    rank.num_patches = json["num_patches"].count();
    rank.num_batches = json["num_batches"].count();
    rank.wall_s = json["wall_s"].numbers();
    read_stages(json["stage_s"], rank);
    rank.forward_call_s = json["forward_call_s"].numbers();
    rank.cpu_s = json["cpu_s"].numbers();
    rank.allocations = json["allocations"].integer();
    rank.timeline = timeline_from(json);
    return rank;
}

int64_t bytes_at(const JsonField& json, const char* key) {
    const double mib = number_or_zero(json, key);
    constexpr double kLargestMib = 1e12;
    if (!(mib >= 0 && mib < kLargestMib)) json[key].fail("no memory is that large");
    return std::llround(mib * kMiB);
}

void read_memory(const JsonField& ranks, PointTrace& trace) {
    for (const auto& json : ranks.items()) {
        const int number = json["rank"].count();
        for (auto& rank : trace.ranks)
            if (rank.rank == number)
                rank.memory = {.allocated_peak = bytes_at(json, "allocated_peak_mib"),
                               .reserved_peak = bytes_at(json, "reserved_peak_mib"),
                               .device_used = bytes_at(json, "device_used_mib"),
                               .host_peak = bytes_at(json, "host_peak_mib")};
    }
}

TelemetryRecord telemetry_from(const JsonField& json) {
    TelemetryRecord record;
    for (const auto& [meter, name] : EnumNames<Meter>::names) record[meter] = optional_number(json, name);
    // Only such a rank reads them.
    record.first_on_node = record[Meter::cpu_energy_j].has_value() || record[Meter::host_cpu_s].has_value();
    const JsonField samples = json["samples"];
    for (const double at_s : samples["at_s"].numbers()) record.samples.emplace_back().at_s = at_s;
    for (const auto& [gauge, name] : EnumNames<Gauge>::names) {
        const auto values = samples.find(name);
        if (!values) continue;
        const std::vector<double> numbers = values->numbers();
        if (numbers.size() != record.samples.size()) values->fail("needs a number or null for each of at_s");
        for (size_t i = 0; i < numbers.size(); ++i)
            if (!std::isnan(numbers[i])) record.samples[i][gauge] = numbers[i];
    }
    return record;
}

void read_telemetry(const JsonField& line, PointTrace& trace) {
    const auto telemetry = line.find("telemetry");
    if (!telemetry) return;
    for (const auto& json : (*telemetry)["ranks"].items()) {
        const int number = json["rank"].count();
        for (auto& rank : trace.ranks)
            if (rank.rank == number) rank.telemetry = telemetry_from(json);
    }
}

void read_bounds(const JsonField& line, PointTrace& trace) {
    const auto bounds = line.find("bounds");
    if (!bounds) return;
    for (const auto& json : (*bounds)["ranks"].items()) {
        const int number = json["rank"].count();
        for (auto& rank : trace.ranks)
            for (const auto& [bound, name] : EnumNames<Bound>::names)
                if (rank.rank == number) rank.bounds[bound] = optional_number(json, name);
    }
}

std::optional<ExchangeRecord> exchange_from(const JsonField& line) {
    const auto json = line.find("exchange");
    if (!json) return std::nullopt;
    return ExchangeRecord{.carrier = (*json)["carrier"].text(),
                          .bytes = (*json)["bytes"].integer(),
                          .link_bytes_per_s = optional_number(*json, "link_bytes_per_s"),
                          .link_latency_s = optional_number(*json, "link_latency_s")};
}

/// Files of earlier versions do not have it.
std::vector<DiscardedMeasurement> discarded_from(const JsonField& line) {
    std::vector<DiscardedMeasurement> all;
    const auto json = line.find("discarded");
    if (!json) return all;
    for (const auto& earlier : json->items())
        all.push_back({earlier["repetitions"].integer(), number_or_zero(earlier, "pipeline_s"),
                       number_or_zero(earlier, "drift"), earlier["cause"].text_or_empty()});
    return all;
}

std::optional<BatchSearch> batch_search_from(const JsonField& line) {
    const auto json = line.find("batch_search");
    if (!json) return std::nullopt;
    BatchSearch search;
    search.found = (*json)["largest_batch"].integer();
    search.limited_by = (*json)["limited_by"].named<BatchLimit>();
    for (const auto& tried : (*json)["tries"].items())
        search.tries.push_back({tried["batch"].integer(), tried["fits"].boolean(), bytes_at(tried, "peak_mib")});
    return search;
}

Verification::Outcome outcome_from(const JsonField& json) {
    const std::string outcome = json.text();
    if (outcome == "passed") return Verification::Outcome::passed;
    if (outcome == "failed") return Verification::Outcome::failed;
    if (outcome != "off") json.fail("passed, failed or off is expected here");
    return Verification::Outcome::off;
}

Verification verification_from(const JsonField& json) {
    const auto flag = [&](const char* key) {
        const auto field = json.find(key);
        return field && field->boolean();
    };
    Verification verification;
    verification.outcome = outcome_from(json["outcome"]);
    verification.reasons = json["reasons"].texts();
    verification.pixels_unwritten = optional_integer(json, "pixels_unwritten").value_or(0);
    verification.pixels_not_finite = optional_integer(json, "pixels_not_finite").value_or(0);
    verification.output_rounding = number_or_zero(json, "output_rounding");
    verification.windows_checked = optional_integer(json, "windows_checked").value_or(0);
    verification.window_error = optional_number(json, "window_error");
    verification.window_tolerance = number_or_zero(json, "window_tolerance");
    verification.seam_error = optional_number(json, "seam_error");
    verification.seam_tolerance = number_or_zero(json, "seam_tolerance");
    verification.seam_against_whole_image = flag("seam_against_whole_image");
    verification.seam_decides = flag("seam_decides");
    verification.seam_map = seam_map_from(json);
    return verification;
}

std::optional<Quality> quality_from(const JsonField& line) {
    const auto json = line.find("quality");
    if (!json) return std::nullopt;
    // An infinite PSNR (equal images) was written as null.
    const auto decibels = [&](const char* key) { return optional_number(*json, key).value_or(HUGE_VAL); };
    return Quality{.psnr_noisy_db = decibels("psnr_noisy_db"),
                   .psnr_denoised_db = decibels("psnr_denoised_db"),
                   .ssim_noisy = number_or_zero(*json, "ssim_noisy"),
                   .ssim_denoised = number_or_zero(*json, "ssim_denoised")};
}

void read_samples(const JsonField& json, PointTrace& trace) {
    trace.wall_s = json["wall_s"].numbers();
    trace.repeated_s = number_or_zero(json, "repeated_s");
    trace.read_s = number_or_zero(json, "read_s");
    trace.noise_s = number_or_zero(json, "noise_s");
    trace.write_s = number_or_zero(json, "write_s");
    for (const auto& rank : json["ranks"].items()) trace.ranks.push_back(rank_from(rank));
}

}  // namespace

PointTrace trace_from(const JsonField& line) {
    PointTrace trace;
    trace.point = point_from_settings(line);
    trace.prediction = prediction_from(line);
    trace.status = line["status"].named<PointStatus>();
    trace.reason = line["reason"].text_or_empty();
    trace.reduction = line["reduction"].text_or_empty();
    trace.shared_device = line["shared_device"].boolean();
    if (const auto binding = line.find("binding")) trace.binding = binding->text();
    read_samples(line["samples"], trace);
    trace.discarded = discarded_from(line);
    read_memory(line["memory"]["ranks"], trace);
    trace.verification = verification_from(line["verification"]);
    trace.quality = quality_from(line);
    trace.preview = preview_from(line);
    trace.batch_search = batch_search_from(line);
    read_telemetry(line, trace);
    read_bounds(line, trace);
    trace.exchange = exchange_from(line);
    if (const auto type = line["work"].find("sample_type")) trace.sample_type = type->named<DType>();
    if (const auto reason = line["summary"].find("stop_reason")) trace.stop_reason = reason->named<StopReason>();
    const JsonField weights = line["weights"];
    trace.weights_source = weights["source"].text_or_empty();
    trace.weights_layout = weights["layout"].text_or_empty();
    trace.weights_sha256 = weights["sha256"].text_or_empty();
    trace.image_sha256 = line["image_sha256"].text_or_empty();
    trace.output_file = line["output_file"].text_or_empty();
    trace.useful_pixels = number_or_zero(line["work"], "useful_pixels");
    trace.processed_pixels = number_or_zero(line["work"], "processed_pixels");
    trace.num_patches = line["work"]["num_patches"].integer();
    return trace;
}

}  // namespace pb
