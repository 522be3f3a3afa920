// Judges a study as a whole, or images that were denoised, and gives the exit code.
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

/// Of images that were denoised: their outputs matter, not their figures.
struct ImageVerdict {
    Verdict verdict;
    bool is_unverified = false;  // VALID but for outputs that were not to be verified
};

/// As judge. Why an image failed is said where it is named, not among the reasons. An output that the user did not want
/// verified is neither VALID nor INVALID: it is counted among the reasons and does not change the exit code. Where all
/// images were interrupted or not begun, there is nothing that could be INVALID: the verdict is VALID, with
/// ExitCode::partial.
[[nodiscard]] ImageVerdict judge_images(std::vector<Summary> summaries);

}  // namespace pb::measure
