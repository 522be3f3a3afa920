// The output looked at as a whole: written everywhere, finite, neither the input itself nor constant.
#pragma once

#include "run/verify/subject.hpp"

#include <optional>
#include <string>

namespace pb {

/// That all windows together keep each pixel once.
[[nodiscard]] std::optional<std::string> find_coverage_fault(const PointTrace& trace, const Team& team,
                                                             const RankShare& share);

/// The ranks whose streamed samples were not finite, in words. Collective; the same on all ranks.
[[nodiscard]] std::optional<std::string> name_ranks_not_finite(const Team& team, const StreamCounts& counts);

/// A held output, whole. On the root alone, which holds it.
void scan_held_output(const Subject& subject, Verification& result);

/// A streamed output by what each rank counted on its way, and by some of its windows. Collective; the reasons are the
/// same on all ranks.
void scan_streamed_output(const Subject& subject, Verification& result);

}  // namespace pb
