// What only the report draws, as parts of a point's line: timelines, maps of seam errors, pictures. Both ways: a reader
// gets what was written, to the digits that a drawing needs.
#pragma once

#include "report/json_field.hpp"
#include "run/trace.hpp"

#include <optional>
#include <vector>

namespace pb {

/// Null when none was recorded.
[[nodiscard]] Json timeline_json(const Timeline& timeline);            // seconds to a tenth of a microsecond
[[nodiscard]] Json seam_map_json(const std::vector<SeamRegion>& map);  // errors to three digits
[[nodiscard]] Json preview_json(const std::optional<Preview>& preview);

/// From a rank, a verification and a point; older files have none. Throw UsageError with the place as JsonField does.
[[nodiscard]] Timeline timeline_from(const JsonField& rank);
[[nodiscard]] std::vector<SeamRegion> seam_map_from(const JsonField& verification);
[[nodiscard]] std::optional<Preview> preview_from(const JsonField& point);

}  // namespace pb
