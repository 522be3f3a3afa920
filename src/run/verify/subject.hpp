// The subject of a verification: the output of a point as its ranks made it, and the independent reference path.
#pragma once

#include "record/point.hpp"
#include "run/point/rank_share.hpp"
#include "run/verify/reference_path.hpp"

namespace pb::run {

/// All members must outlive the verification. Each rank has its own `reference` and `exact`.
struct Subject {
    const record::PointTrace& trace;
    const Team& team;
    const RankShare& share;
    ReferencePath& reference;
    ReferencePath* exact = nullptr;  // in double precision, where the setting verify.fp64 asks for it

    [[nodiscard]] const plan::Point& point() const { return trace.point; }
    [[nodiscard]] const config::PointSettings& settings() const { return trace.point.settings; }
    [[nodiscard]] CoreSink& output() const { return share.cores(); }
    [[nodiscard]] bool is_held() const { return share.streamed() == nullptr; }
};

}  // namespace pb::run
