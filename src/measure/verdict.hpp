// Judges a study as a whole, and gives the exit code.
#pragma once

#include "measure/summary.hpp"

#include "patchbench/base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace pb::measure {

struct Verdict {
    Validity validity = Validity::valid;
    std::vector<std::string> reasons;  // each with the number of its points
    ExitCode exit_code = ExitCode::ok;
};

/// FAILED when a point broke or failed its verification. Otherwise INVALID when a measured point is INVALID, or when
/// nothing was measured. Points out of memory, skipped or interrupted do not affect the others: they are counted among
/// the reasons and give ExitCode::partial. With `strict`, INVALID gives ExitCode::not_comparable, and so do points with
/// too few repetitions for an interval. The first of these exit codes that applies is returned: verification, failed,
/// not_comparable, partial. `noun`: what a summary stands for, in the reasons.
[[nodiscard]] Verdict judge(const std::vector<Summary>& summaries, bool strict, std::string_view noun = "point");

}  // namespace pb::measure
