// The point of a study of one, without files, for tests of what plans say of it.
#pragma once

#include "plan/plan.hpp"

#include "patchbench/base/error.hpp"

namespace pb::test {

/// Of a synthetic image. Ranks may share devices.
inline plan::Point planned(const config::PointSettings& settings,
                           const plan::Topology& topology = plan::make_local_topology(1)) {
    const auto no_file = [](const config::ImageSettings&) -> plan::SourceFacts { throw Error("there is no file"); };
    config::StudySettings study;
    study.device_sharing = config::SharingRule::allow;
    return plan::make_plan({study, {settings}, ""}, topology, no_file).points.front();
}

}  // namespace pb::test
