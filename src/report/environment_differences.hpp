// Finds what differs between the environments of two sessions or files. `--resume` refuses to go on because of such
// differences, and `compare` warns of them. Pure.
#pragma once

#include "record/environment.hpp"

#include <string>
#include <vector>

namespace pb::report {

struct EnvironmentDifference {
    std::string what;  // "git_sha", "library torch (loaded)", "device_name of rank 3"
    std::string before, after;
    /// True when the difference can change the figures. False when only the place differs but is of the same kind (host
    /// names, device UUIDs, affinity masks, job numbers): a resumed job rarely gets the same nodes.
    bool decisive = true;

    [[nodiscard]] std::string text() const;  // "git_sha: 0123abcd -> 89abcdef"
};

/// Compares everything except the time and the command line. A difference that several ranks share is listed once.
[[nodiscard]] std::vector<EnvironmentDifference> environment_differences(const record::Environment& before,
                                                                         const record::Environment& after);

/// Returns only the differences that are decisive.
[[nodiscard]] std::vector<EnvironmentDifference> decisive_differences(const record::Environment& before,
                                                                      const record::Environment& after);

}  // namespace pb::report
