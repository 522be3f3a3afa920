#include "measure/study/point_groups.hpp"

#include "base/sha256.hpp"
#include "config/text.hpp"
#include "measure/study/batch_curve.hpp"
#include "plan/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace pb::measure {

namespace {

using Keys = std::span<const std::string_view>;

bool contains(Keys keys, std::string_view key) { return std::ranges::find(keys, key) != keys.end(); }

/// Precisions, devices, engines and halos are compared each in its faster layout, which is not the same for all, and in
/// the same one.
bool is_in_its_layout(const plan::Point& point, Keys but_for) {
    constexpr std::array<std::string_view, 4> kWithLayouts{"dtype", "device", "engine", "halo"};
    return std::ranges::any_of(kWithLayouts, [&](std::string_view key) { return contains(but_for, key); }) &&
           point.settings.layout == plan::fastest_layout(point);
}

/// `halo: auto` takes other ways with other ranks, precisions, devices and engines, which are compared as they were
/// asked for.
bool is_as_asked(const plan::Point& point, Keys but_for) {
    constexpr std::array<std::string_view, 4> kWithHalos{"ranks", "dtype", "device", "engine"};
    return point.settings.halo.kind == config::HaloSetting::Kind::automatic &&
           std::ranges::any_of(kWithHalos, [&](std::string_view key) { return contains(but_for, key); });
}

/// Returns as text the settings that decide what the point measures, without those in `but_for`.
std::string identity(const plan::Point& point, Keys but_for) {
    config::PointSettings resolved = point.settings;
    resolved.device = point.device == DeviceKind::cuda ? config::DeviceChoice::cuda : config::DeviceChoice::cpu;
    resolved.ranks.count = point.num_ranks;
    resolved.sigma = point.sigma;
    if (is_in_its_layout(point, but_for)) resolved.layout = Layout::channels_last;
    if (is_as_asked(point, but_for))
        resolved.halo = {config::HaloSetting::Kind::automatic, 0};
    else if (plan::is_carried(point))
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
    const std::string taken = part_of_label(point, "halo");
    const auto place = is_as_asked(point, but_for) ? label.rfind(taken) : std::string::npos;
    if (place != std::string::npos) label.replace(place, taken.size(), "-hauto");
    return label;
}

bool is_drawable(const Summary& summary) {
    return summary.status == record::PointStatus::ok && summary.pipeline_s.has_value();
}

/// Returns the members of a group for which `is_wanted` holds.
template <class Wanted>
std::vector<size_t> members_of(const PointGroup& group, Wanted is_wanted) {
    std::vector<size_t> members;
    std::ranges::copy_if(group.members, std::back_inserter(members), is_wanted);
    return members;
}

PointSet set_of(const PointGroup& group, const std::vector<size_t>& members, const StudyPoints& points) {
    PointSet set{group.key, group.label, {}};
    for (const size_t member : members) set.points.push_back(points[member].summary->index);
    return set;
}

/// Returns the settings in which alternatives differ.
std::span<const std::string_view> settings_of(VariedBy by) {
    static constexpr std::array<std::string_view, 1> kDtype{"dtype"};
    static constexpr std::array<std::string_view, 2> kPlaces{"device", "ranks"};
    if (by == VariedBy::engine) return kEngineSettings;
    return by == VariedBy::dtype ? std::span<const std::string_view>(kDtype) : kPlaces;
}

/// Returns the first measured point of the group with each value.
std::vector<size_t> first_of_each(VariedBy by, const PointGroup& group, const StudyPoints& points) {
    std::set<std::string> seen;
    return members_of(group, [&](size_t i) {
        const auto& [trace, summary] = points[i];
        if (!is_drawable(*summary) || (by == VariedBy::engine && summary->simulated)) return false;
        return seen.insert(variant_of(by, trace->point)).second;
    });
}

/// Returns the members of the line that are in the panel, sorted by batch.
std::vector<size_t> by_batch(const PointGroup& line, const std::vector<size_t>& panel, const StudyPoints& points) {
    auto places = members_of(line, [&](size_t i) { return std::binary_search(panel.begin(), panel.end(), i); });
    std::ranges::stable_sort(places, {}, [&](size_t i) { return *points[i].trace->point.batch; });
    return places;
}

}  // namespace

std::vector<PointGroup> group_points(const StudyPoints& points, std::string_view but_for) {
    return group_points(points, Keys(&but_for, 1));
}

std::vector<PointGroup> group_points(const StudyPoints& points, Keys but_for) {
    std::vector<PointGroup> groups;
    std::map<std::string, size_t> known;
    std::map<std::string, int> uses;
    for (size_t i = 0; i < points.size(); ++i) {
        const plan::Point& point = points[i].trace->point;
        const std::string shared = identity(point, but_for);
        const auto [group, is_new] = known.emplace(shared, groups.size());
        if (is_new) {
            groups.push_back({key_of(shared), label_without(point, but_for), {}});
            ++uses[groups.back().label];
        }
        groups[group->second].members.push_back(i);
    }
    for (auto& group : groups)
        if (uses[group.label] > 1)
            group.label += fmt::format(" (point {})", points[group.members.front()].trace->point.index);
    return groups;
}

std::vector<BatchPanel> find_batch_panels(const StudyPoints& points, const plan::Topology& topology) {
    const auto is_drawn = [&](size_t i) {
        const auto& [trace, summary] = points[i];
        return trace->point.settings.workload == config::Workload::tiles && trace->point.batch &&
               (is_drawable(*summary) || summary->status == record::PointStatus::oom);
    };
    const auto lines = group_points(points, "batch");
    std::vector<BatchPanel> panels;
    for (const auto& group : group_points(points, kCutting)) {
        const auto members = members_of(group, is_drawn);
        if (std::ranges::none_of(members, [&](size_t i) { return is_drawable(*points[i].summary); })) continue;
        BatchPanel panel{
            set_of(group, members, points), {}, memory_limit_of(points[members.front()].trace->point, topology)};
        bool goes_over_batches = false;
        for (const auto& line : lines) {
            const auto places = by_batch(line, members, points);
            if (places.empty()) continue;
            panel.lines.push_back(set_of(line, places, points));
            goes_over_batches |= points[places.front()].trace->point.batch != points[places.back()].trace->point.batch;
        }
        if (goes_over_batches) panels.push_back(std::move(panel));
    }
    return panels;
}

std::vector<Alternatives> find_alternatives(const StudyPoints& points) {
    std::vector<Alternatives> all;
    for (const VariedBy by : kEachVariedBy)
        for (const auto& group : group_points(points, settings_of(by))) {
            const auto members = first_of_each(by, group, points);
            if (members.size() > 1) all.push_back({by, set_of(group, members, points)});
        }
    return all;
}

}  // namespace pb::measure
