// The timed loop of a point.
#pragma once

#include "record/point.hpp"
#include "run/pipeline/pipeline.hpp"
#include "run/point/rank_share.hpp"

namespace pb {

/// Collective over the team. A repetition: barrier, pass, exchange to the root, clock; then the maximum over ranks. The
/// root decides after each whether it was the last, and all ranks stop on the same one. The output is poisoned before
/// every timed repetition, outside the timed region. Repetitions that drift are measured again, up to `remeasure` times
/// and only where the study's time allows: `trace.discarded` says so, all samples are those of the last. Fills
/// `trace.wall_s`, `trace.stop_reason` and `trace.ranks` (gathered through the team's reduction) on all ranks.
void run_repetitions(Team& team, const Topology& topology, Pipeline& pipeline, RankShare& share, PointTrace& trace);

}  // namespace pb
