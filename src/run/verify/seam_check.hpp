// Compares the tiled output with that of the whole image. A halo that is too small leaves an error; an exact halo must
// not.
#pragma once

#include "run/verify/verification.hpp"

namespace pb::run {

/// Everything that the reference output of `probe` depends on: its key in a ReferenceCache.
[[nodiscard]] std::string key_of(const Subject& subject, const Rect& probe);

/// Fills the seam figures. Adds a reason when the halo is exact and the output differs. Only on the root.
void check_seams(const Subject& subject, ReferenceCache& cache, record::Verification& result);

}  // namespace pb::run
