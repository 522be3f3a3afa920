// The tiled output beside what the whole image gives: the error that a halo too small leaves, which an exact one must
// not.
#pragma once

#include "run/verify/subject.hpp"
#include "run/verify/verification.hpp"

namespace pb {

/// Fills the figures of seams, and the reason where the halo is exact and the output is not. On the root alone.
void check_seams(const Subject& subject, ReferenceCache& cache, Verification& result);

}  // namespace pb
