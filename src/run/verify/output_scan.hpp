// Checks an output as a whole: written everywhere, finite, not equal to the input and not constant.
#pragma once

#include "run/verify/trivial_output.hpp"
#include "run/verify/verification.hpp"

#include <optional>
#include <string>

namespace pb::run {

/// Returns an error unless all windows together keep each pixel once.
[[nodiscard]] std::optional<std::string> find_coverage_fault(const record::PointTrace& trace, const Team& team,
                                                             const RankShare& share);

/// Returns an error if values of the network were not finite before they became integers on this rank.
[[nodiscard]] std::optional<std::string> find_lost_values(const CoreSink& output);

/// Counts the pixels of a streamed output that no rank wrote, and adds a reason if there are any. Collective.
void count_unwritten(const record::PointTrace& trace, const Team& team, const StreamCounts& counts,
                     record::Verification& result);

/// Names the ranks whose streamed samples were not finite. Collective; the same on all ranks.
[[nodiscard]] std::optional<std::string> name_ranks_not_finite(const Team& team, const StreamCounts& counts);

/// Scans all of a held output, and returns whether it is trivial. Only on the root, which holds it.
[[nodiscard]] TrivialOutput scan_held_output(const Subject& subject, record::Verification& result);

/// Checks a streamed output by the counts of each rank and by some of its windows. Collective; the reasons are the same
/// on all ranks.
void scan_streamed_output(const Subject& subject, record::Verification& result);

}  // namespace pb::run
