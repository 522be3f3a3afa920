// What `check` prints.
#pragma once

#include "doctor/launch_findings.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb {

/// Versions, MPI, variables and the table of ranks.
[[nodiscard]] std::string launch_text(const std::vector<RankFacts>& ranks, std::optional<bool> cuda_aware);
[[nodiscard]] std::string links_text(const Topology& topology, const std::vector<LinkSpeed>& links);
/// `errors`: of each rank, at least one.
[[nodiscard]] std::string tiny_text(const std::vector<double>& errors);
/// The findings with their fixes, and the last line: "CHECK: OK" or how many there are.
[[nodiscard]] std::string findings_text(const Findings& all);

/// Ranks whose device computed something else than the reference.
[[nodiscard]] Findings tiny_findings(const std::vector<double>& errors, double tolerance, const Topology& topology);
/// All that follows from the facts.
[[nodiscard]] Findings launch_findings(const std::vector<RankFacts>& ranks);
[[nodiscard]] bool any_wrong(const Findings& all);

}  // namespace pb
