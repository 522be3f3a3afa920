#include "record/point.hpp"

namespace pb::record {

std::optional<ImagePath> path_of(const plan::Point& point) {
    const config::PointSettings& settings = point.settings;
    if (settings.workload == config::Workload::tiles) return ImagePath::tiles;
    try {
        const auto calls = plan::whole_image_calls(point.facts(), point.source.extent, settings.odd_shape);
        if (calls.size() > 1) return ImagePath::split;
        return calls.front().window.extent == point.source.extent ? ImagePath::whole : ImagePath::pad;
    } catch (const UsageError&) {
        return std::nullopt;
    }
}

}  // namespace pb::record
