// Compares the tiled output with that of the whole image. A halo that is too small leaves an error; an exact halo must
// not.
#pragma once

#include "run/verify/verification.hpp"

namespace pb::run {

/// Fills the seam figures. Adds a reason when the halo is exact and the output differs. Only on the root.
void check_seams(const Subject& subject, ReferenceCache& cache, record::Verification& result);

}  // namespace pb::run
