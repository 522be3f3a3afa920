#include "measure/point_groups.hpp"

#include "base/sha256.hpp"
#include "config/text.hpp"
#include "plan/slabs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace pb::measure {

namespace {

using Keys = std::span<const std::string_view>;

bool contains(Keys keys, std::string_view key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); }

/// Returns as text the settings that decide what the point measures, without those in `but_for`.
std::string identity(const plan::Point& point, Keys but_for) {
    config::PointSettings resolved = point.settings;
    resolved.device = point.device == DeviceKind::cuda ? config::DeviceChoice::cuda : config::DeviceChoice::cpu;
    resolved.ranks.count = point.num_ranks;
    resolved.sigma = point.sigma;
    if (plan::is_carried(point))
        resolved.halo = {config::HaloSetting::Kind::carried, 0};
    else if (plan::is_exchanged(point))
        resolved.halo = {config::HaloSetting::Kind::exchanged, 0};
    else if (point.halo)
        resolved.halo = {config::HaloSetting::Kind::pixels, *point.halo};
    const bool grows =
        contains(but_for, "ranks") && resolved.image.height_per_rank > 0;  // the image grows with the ranks
    if (grows) resolved.image.height = 0;
    const int64_t height = grows || contains(but_for, "image.height") ? 0 : point.source.extent.h;
    const int64_t width = contains(but_for, "image.width") ? 0 : point.source.extent.w;
    std::string text = fmt::format("{}x{}x{}", height, width, point.source.channels);
    config::work_fields(std::as_const(resolved), [&](const config::FieldName& field, const auto& value) {
        if (!contains(but_for, field.key)) text += "\n" + config::format_setting(value);
    });
    return text;
}

/// Returns what the setting `key` adds to the label of a point; may be empty.
std::string part_of_label(const plan::Point& point, std::string_view key) {
    const config::PointSettings& settings = point.settings;
    if (key == "engine") return plan::engine_part(point);
    if (key == "dtype") return "-" + std::string(name_of(settings.dtype));
    if (key == "batch")
        return fmt::format("-b{}", point.batch ? std::to_string(*point.batch) : config::format_setting(settings.batch));
    if (key == "halo") return "-h" + plan::halo_text(point);
    if (key == "image.width") return fmt::format("-{}x{}", point.source.extent.h, point.source.extent.w);
    if (key == "patch") return fmt::format("-p{}", settings.patch);
    return "";
}

/// Returns 16 hex digits.
std::string key_of(const std::string& identity) {
    constexpr size_t kDigits = 16;
    return sha256_of(std::as_bytes(std::span(identity))).substr(0, kDigits);
}

/// Returns the label of `point` without the parts that the settings `but_for` add to it.
std::string label_without(const plan::Point& point, Keys but_for) {
    std::string label = plan::label_of(point);
    for (const auto key : but_for) {
        const std::string part = part_of_label(point, key);
        const auto place = part.empty() ? std::string::npos : label.rfind(part);
        if (place != std::string::npos) label.erase(place, part.size());
    }
    return label;
}

}  // namespace

std::vector<PointGroup> group_points(const std::vector<record::PointTrace>& traces, std::string_view but_for) {
    return group_points(traces, Keys(&but_for, 1));
}

std::vector<PointGroup> group_points(const std::vector<record::PointTrace>& traces, Keys but_for) {
    std::vector<PointGroup> groups;
    std::map<std::string, size_t> known;
    std::map<std::string, int> uses;
    for (size_t i = 0; i < traces.size(); ++i) {
        const plan::Point& point = traces[i].point;
        const std::string shared = identity(point, but_for);
        const auto [group, is_new] = known.emplace(shared, groups.size());
        if (is_new) {
            groups.push_back({key_of(shared), label_without(point, but_for), {}});
            ++uses[groups.back().label];
        }
        groups[group->second].members.push_back(i);
    }
    for (auto& group : groups)
        if (uses[group.label] > 1) group.label += fmt::format(" (point {})", traces[group.members.front()].point.index);
    return groups;
}

}  // namespace pb::measure
