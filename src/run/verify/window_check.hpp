// Computes windows again and compares them. If the node has more than one rank, another rank than the one that made a
// window checks it, so that a rank with wrong weights or a faulty device does not confirm itself.
#pragma once

#include "run/verify/difference.hpp"
#include "run/verify/verification.hpp"

namespace pb::run {

/// What `reference` gives for `part` of the tile: in the tile's window, or for a band of carried or exchanged rows,
/// which has no context of its own, with the context of the network.
[[nodiscard]] image::Image expected_of(const Subject& subject, ReferencePath& reference, const plan::Tile& tile,
                                       const Rect& part);

/// Chooses which windows of a rank are computed again: those that look wrong first, then some in random order. With
/// verify.mode full these are all windows, otherwise as many as verify.time_share allows. `in_parts`: of each window
/// only a square of kProbeEdge pixels at the top, somewhere along its width. Fills the figures of the windows, and adds
/// as reason the worst window of each rank with a wrong one: rank and position. Collective over the team. The result is
/// complete on all ranks.
void check_windows(const Subject& subject, const Tolerance& tolerance, bool in_parts, record::Verification& result);

// Compares a window of each rank with the network in double precision (setting verify.fp64). The serial fp32 path
// rounds like the pipeline; this tells how far both are from the exact result.

/// Fills fp64_error with the largest difference of all ranks, and adds a reason for each rank whose window exceeds
/// `tolerance`. Does nothing without `subject.exact`. `cache`: of this rank. Collective over the team. The result is
/// complete on all ranks.
void check_fp64(const Subject& subject, const Tolerance& tolerance, ReferenceCache& cache,
                record::Verification& result);

}  // namespace pb::run
