// What differs between the environments of two sessions or files: the reason why `--resume` refuses, and the warning
// of `compare`. Pure.
#pragma once

#include "record/environment.hpp"

#include <string>
#include <vector>

namespace pb {

struct EnvironmentDifference {
    std::string what;  // "git_sha", "library torch (loaded)", "device_name of rank 3"
    std::string before, after;
    /// Whether figures from both sides may differ for it. Not so where only the place is another one of the same kind
    /// (host names, device uuids, affinity masks, job numbers): a job that goes on rarely gets the same nodes.
    bool decisive = true;

    [[nodiscard]] std::string text() const;  // "git_sha: 0123abcd -> 89abcdef"
};

/// Everything but the time and the command line. A difference that several ranks have is listed once.
[[nodiscard]] std::vector<EnvironmentDifference> environment_differences(const Environment& before,
                                                                         const Environment& after);

/// The decisive ones.
[[nodiscard]] std::vector<EnvironmentDifference> decisive_differences(const Environment& before,
                                                                      const Environment& after);

}  // namespace pb
