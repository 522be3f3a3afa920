// Judges images that were denoised: their outputs matter, not their figures.
#pragma once

#include "measure/verdict.hpp"

#include <vector>

namespace pb::measure {

struct ImageVerdict {
    Verdict verdict;
    bool is_unverified = false;  // VALID but for outputs that were not to be verified
};

/// As judge. An output that the user did not want verified is neither VALID nor INVALID: it is counted among the
/// reasons and does not change the exit code. Where all images were interrupted or not begun, there is nothing that
/// could be INVALID: the verdict is VALID, with ExitCode::partial.
[[nodiscard]] ImageVerdict judge_images(std::vector<Summary> summaries);

}  // namespace pb::measure
