// The timed loop of a point, and the times of its layers.
#pragma once

#include "record/point.hpp"
#include "run/pipeline/pipeline.hpp"
#include "run/point/rank_share.hpp"

namespace pb::run {

/// Collective over the team. A repetition is a barrier, a pass and the exchange to the root; its time is the maximum
/// over ranks. After each repetition the root decides whether it was the last, so all ranks stop at the same one. The
/// output is poisoned before every timed repetition, outside the timed region. If the repetitions drift, the point is
/// measured again, at most `remeasure` times and only if the study's time allows it. `trace.discarded` records the
/// discarded measurements; all samples are those of the last one. Fills `trace.wall_s`, `trace.stop_reason` and
/// `trace.ranks` (gathered with the team's reduction) on all ranks. `denoiser`: the pipeline's; null: none.
void run_repetitions(Team& team, const plan::Topology& topology, Pipeline& pipeline, RankShare& share,
                     record::PointTrace& trace, const engine::Denoiser* denoiser = nullptr);

/// Times the layers of the point's network one by one, after the repetitions. Collective over the team. All ranks make
/// as many calls as the setting `profile` says, at the same time; the profile is that of the slowest. An engine that
/// does not tell its layers apart leaves a note and no profile.
void profile_layers(const Team& team, Pipeline& pipeline, record::PointTrace& trace);

}  // namespace pb::run
