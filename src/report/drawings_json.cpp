#include "report/drawings_json.hpp"

#include "report/json_number.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pb {

namespace {

constexpr const char* kTimedPass = "repetition";
constexpr const char* kWarmUpPass = "warm-up";

Json tenths_of_microseconds(double seconds) {
    constexpr double kPerSecond = 1e7;
    return number(std::round(seconds * kPerSecond) / kPerSecond);
}

Json three_digits(double value) {
    if (value == 0 || !std::isfinite(value)) return number(value);
    const double scale = std::pow(10.0, 2 - std::floor(std::log10(std::abs(value))));
    return number(std::round(value * scale) / scale);
}

/// {"row":, "column":, "height":, "width":, ..}
Json with_part(const Rect& part) {
    return {{"row", part.row}, {"column", part.column}, {"height", part.extent.h}, {"width", part.extent.w}};
}

Rect part_from(const JsonField& json) {
    const Rect part{
        json["row"].integer(), json["column"].integer(), {json["height"].integer(), json["width"].integer()}};
    const auto is_legal = [](int64_t begin, int64_t length) {
        return begin >= 0 && length >= 1 && static_cast<double>(std::max(begin, length)) <= kMaxEdge;
    };
    if (!is_legal(part.row, part.extent.h) || !is_legal(part.column, part.extent.w)) json.fail("no part of an image");
    return part;
}

Stage stage_from(const JsonField& json) { return json.named<Stage>(); }

}  // namespace

Json timeline_json(const Timeline& timeline) {
    if (timeline.spans.empty()) return nullptr;
    Json stages = Json::array(), batches = Json::array(), begins = Json::array(), ends = Json::array();
    for (const Span& span : timeline.spans) {
        stages.push_back(name_of(span.stage));
        batches.push_back(span.batch);
        begins.push_back(tenths_of_microseconds(span.begin_s));
        ends.push_back(tenths_of_microseconds(span.end_s));
    }
    return {{"of", timeline.is_timed ? kTimedPass : kWarmUpPass},
            {"clock_error_s", number(timeline.clock_error_s)},
            {"dropped", timeline.num_dropped},
            {"stage", std::move(stages)},
            {"batch", std::move(batches)},
            {"begin_s", std::move(begins)},
            {"end_s", std::move(ends)}};
}

Json seam_map_json(const std::vector<SeamRegion>& map) {
    if (map.empty()) return nullptr;
    Json regions = Json::array();
    for (const auto& region : map) {
        Json json = with_part(region.part);
        json["cell_px"] = region.cell_px;
        json["errors"] = Json::array();
        for (const double error : region.errors) json["errors"].push_back(three_digits(error));
        regions.push_back(std::move(json));
    }
    return regions;
}

Json preview_json(const std::optional<Preview>& preview) {
    if (!preview) return nullptr;
    Json json = with_part(preview->part);
    json["noisy_file"] = preview->noisy_file;
    json["denoised_file"] = preview->denoised_file;
    json["clean_file"] = preview->clean_file.empty() ? Json(nullptr) : Json(preview->clean_file);
    return json;
}

Timeline timeline_from(const JsonField& rank) {
    Timeline timeline;
    const auto json = rank.find("timeline");
    if (!json) return timeline;
    timeline.is_timed = (*json)["of"].text() == kTimedPass;
    timeline.clock_error_s = (*json)["clock_error_s"].number_or_none().value_or(0);
    timeline.num_dropped = (*json)["dropped"].integer();
    const auto stages = (*json)["stage"].items();
    const auto batches = (*json)["batch"].items();
    const auto begins = (*json)["begin_s"].numbers(), ends = (*json)["end_s"].numbers();
    if (batches.size() != stages.size() || begins.size() != stages.size() || ends.size() != stages.size())
        json->fail("stage, batch, begin_s and end_s must be equally long");
    for (size_t i = 0; i < stages.size(); ++i)
        timeline.spans.push_back({stage_from(stages[i]), batches[i].integer(), begins[i], ends[i]});
    return timeline;
}

std::vector<SeamRegion> seam_map_from(const JsonField& verification) {
    std::vector<SeamRegion> map;
    const auto json = verification.find("seam_map");
    if (!json) return map;
    for (const auto& region : json->items()) {
        map.push_back({part_from(region), region["cell_px"].integer(), region["errors"].numbers()});
        const auto& [part, cell_px, errors] = map.back();
        if (cell_px < 1 || static_cast<double>(cell_px) > kMaxEdge ||
            static_cast<int64_t>(errors.size()) != ceil_div(part.extent.h, cell_px) * ceil_div(part.extent.w, cell_px))
            region.fail("needs an error for each cell of cell_px pixels");
    }
    return map;
}

std::optional<Preview> preview_from(const JsonField& point) {
    const auto json = point.find("preview");
    if (!json) return std::nullopt;
    return Preview{part_from(*json), (*json)["noisy_file"].text(), (*json)["denoised_file"].text(),
                   (*json)["clean_file"].text_or_empty()};
}

}  // namespace pb
