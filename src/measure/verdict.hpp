// What a study as a whole is good for, and the exit code that goes with it.
#pragma once

#include "measure/summary.hpp"

#include "patchbench/base/error.hpp"

#include <string>
#include <vector>

namespace pb {

struct Verdict {
    Validity validity = Validity::valid;
    std::vector<std::string> reasons;  // each with how many points it concerns
    ExitCode exit_code = ExitCode::ok;
};

/// FAILED when a point broke or failed its verification; else INVALID when a measured point is, or when nothing was
/// measured. Points out of memory, skipped or interrupted leave the others as good as they are: they are counted among
/// the reasons and end with ExitCode::partial. `strict`: INVALID ends with ExitCode::not_comparable, and so do points
/// with too few repetitions for an interval. Of several exit codes: verification, failed, not_comparable, partial.
[[nodiscard]] Verdict judge(const std::vector<Summary>& summaries, bool strict);

}  // namespace pb
