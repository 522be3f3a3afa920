// What is verified: a point's output as its ranks made it, and the independent path beside it.
#pragma once

#include "record/point.hpp"
#include "run/point/rank_share.hpp"
#include "run/verify/reference_path.hpp"

namespace pb {

/// References for the time of a verification. `reference` is every rank's own.
struct Subject {
    const PointTrace& trace;
    const Team& team;
    const RankShare& share;
    ReferencePath& reference;

    [[nodiscard]] const Point& point() const { return trace.point; }
    [[nodiscard]] const PointSettings& settings() const { return trace.point.settings; }
    [[nodiscard]] CoreSink& output() const { return share.cores(); }
    [[nodiscard]] bool is_held() const { return share.streamed() == nullptr; }
};

}  // namespace pb
