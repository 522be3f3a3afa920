// The point of a study of one, for tests of what plans say of it and of how it runs.
#pragma once

#include "plan/plan.hpp"

#include "patchbench/base/error.hpp"

namespace pb::test {

/// A study with one point whose image is synthetic.
inline plan::Point planned(const config::PointSettings& settings, const config::StudySettings& study,
                           const plan::Topology& topology) {
    const auto no_file = [](const config::ImageSettings&) -> plan::SourceFacts { throw Error("there is no file"); };
    return plan::make_plan({study, {settings}, ""}, topology, no_file).points.front();
}

/// Ranks may share devices.
inline plan::Point planned(const config::PointSettings& settings,
                           const plan::Topology& topology = plan::make_local_topology(1)) {
    config::StudySettings study;
    study.device_sharing = config::SharingRule::allow;
    return planned(settings, study, topology);
}

}  // namespace pb::test
