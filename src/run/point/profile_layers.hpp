// Times the layers of a point's network one by one, after its repetitions.
#pragma once

#include "record/point.hpp"
#include "run/pipeline/pipeline.hpp"
#include "run/point/team.hpp"

namespace pb::run {

/// Collective over the team. All ranks make as many calls as the setting `profile` says, at the same time; the profile
/// is that of the slowest. An engine that does not tell its layers apart leaves a note and no profile.
void profile_layers(const Team& team, Pipeline& pipeline, record::PointTrace& trace);

}  // namespace pb::run
