#include "record/point.hpp"

namespace pb {

std::optional<ImagePath> path_of(const Point& point) {
    const PointSettings& settings = point.settings;
    if (settings.workload == Workload::tiles) return ImagePath::tiles;
    try {
        const auto calls = whole_image_calls(point.facts(), point.source.extent, settings.odd_shape);
        if (calls.size() > 1) return ImagePath::split;
        return calls.front().window.extent == point.source.extent ? ImagePath::whole : ImagePath::pad;
    } catch (const UsageError&) {
        return std::nullopt;
    }
}

}  // namespace pb
