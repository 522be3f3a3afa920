#include "measure/point_groups.hpp"

#include "patchbench/config/text.hpp"

#include <algorithm>
#include <map>

namespace pb {

namespace {

/// All that a point does but for one setting, as text.
std::string identity(const Point& point, std::string_view but_for) {
    PointSettings resolved = point.settings;
    resolved.device = point.device == DeviceKind::cuda ? DeviceChoice::cuda : DeviceChoice::cpu;
    resolved.ranks.count = point.num_ranks;
    resolved.sigma = point.sigma;
    if (point.halo) resolved.halo = {HaloSetting::Kind::pixels, *point.halo};
    const bool grows = but_for == "ranks" && resolved.image.height_per_rank > 0;  // the image goes with the ranks
    if (grows) resolved.image.height = 0;
    const int64_t height = grows ? 0 : point.source.extent.h;
    std::string text = std::to_string(height) + "x" + std::to_string(point.source.extent.w) + "x" +
                       std::to_string(point.source.channels);
    work_fields(std::as_const(resolved), [&](const FieldName& field, const auto& value) {
        if (but_for != field.key) text += "\n" + format_setting(value);
    });
    return text;
}

/// The label of `point` without the part that `but_for` gives it.
std::string label_without(const Point& point, std::string_view but_for) {
    std::string label = label_of(point);
    std::string part;
    if (but_for == "dtype") part = "-" + std::string(name_of(point.settings.dtype));
    if (but_for == "batch")
        part = "-b" + (point.batch ? std::to_string(*point.batch) : format_setting(point.settings.batch));
    const auto place = part.empty() ? std::string::npos : label.rfind(part);
    return place == std::string::npos ? label : label.erase(place, part.size());
}

}  // namespace

std::vector<PointGroup> group_points(const std::vector<PointTrace>& traces, std::string_view but_for) {
    std::vector<PointGroup> groups;
    std::map<std::string, size_t> known;
    std::map<std::string, int> uses;
    for (size_t i = 0; i < traces.size(); ++i) {
        const Point& point = traces[i].point;
        const auto [group, is_new] = known.emplace(identity(point, but_for), groups.size());
        if (is_new) {
            groups.push_back({label_without(point, but_for), {}});
            ++uses[groups.back().label];
        }
        groups[group->second].members.push_back(i);
    }
    for (auto& group : groups)
        if (uses[group.label] > 1)
            group.label += " (point " + std::to_string(traces[group.members.front()].point.index) + ")";
    return groups;
}

}  // namespace pb
