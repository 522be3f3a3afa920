// Compares a window of each rank with the network in double precision (setting verify.fp64). The serial fp32 path
// rounds like the pipeline; this tells how far both are from the exact result.
#pragma once

#include "run/verify/difference.hpp"
#include "run/verify/verification.hpp"

namespace pb::run {

/// Fills fp64_error with the largest difference of all ranks, and adds a reason for each rank whose window exceeds
/// `tolerance`. Does nothing without `subject.exact`. `cache`: of this rank. Collective over the team. The result is
/// complete on all ranks.
void check_fp64(const Subject& subject, const Tolerance& tolerance, ReferenceCache& cache,
                record::Verification& result);

}  // namespace pb::run
