// Windows run again, each by another rank of the node than the one that made it where there is another, so that a rank
// with other weights or a faulty device does not confirm itself.
#pragma once

#include "run/verify/difference.hpp"
#include "run/verify/subject.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace pb {

struct WindowCheck {
    int64_t num_checked = 0;           // of all ranks
    double error = 0;                  // largest, NaN as infinity
    std::vector<std::string> reasons;  // the worst window of each rank that made a wrong one, with rank and place
};

/// Which windows of a rank are run again, by index: those that look wrong first, then some by a seed; all of them with
/// verify.mode full, and as many as verify.time_share allows. Collective over the team; complete on all ranks.
[[nodiscard]] WindowCheck check_windows(const Subject& subject, const Tolerance& tolerance);

}  // namespace pb
