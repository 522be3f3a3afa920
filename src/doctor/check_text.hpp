// The text that `check` prints.
#pragma once

#include "doctor/launch_findings.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb::doctor {

/// Versions, MPI, variables and the table of ranks, which fits `width` characters.
[[nodiscard]] std::string launch_text(const std::vector<RankFacts>& ranks, std::optional<bool> cuda_aware,
                                      size_t width);
[[nodiscard]] std::string links_text(const plan::Topology& topology, const std::vector<LinkSpeed>& links);
/// `errors` has the largest difference on each rank; it must not be empty.
[[nodiscard]] std::string tiny_text(const std::vector<double>& errors);
/// The findings with their fixes, and the last line: "CHECK: OK" or the number of findings.
[[nodiscard]] std::string findings_text(const Findings& all);

}  // namespace pb::doctor
