// Where, with what and how a study ran.
#pragma once

#include "comm/communicator.hpp"
#include "record/environment.hpp"

namespace pb {

/// Collective in nothing: rank 0's view, with the topology of all.
[[nodiscard]] Environment describe_environment(const Topology& topology, int argc, const char* const* argv);

/// The libraries alone: what `--version` prints.
[[nodiscard]] std::vector<Environment::Library> library_versions();

/// Collective. AgreedError (exit code 2) that names the ranks whose patchbench, or a library of theirs, is another than
/// rank 0's.
void require_same_software(const Communicator& world);

/// "patchbench 0.1.0 (git 0123abcd, modified)".
[[nodiscard]] std::string version_text();

}  // namespace pb
