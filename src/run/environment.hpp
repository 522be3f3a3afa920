// Describes the machine and software of a study.
#pragma once

#include "comm/communicator.hpp"
#include "record/environment.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pb::run {

/// This build. cmake/BuildInfo.cmake generates the definition.
[[nodiscard]] const record::Build& build_info();

/// Name and value of each variable that affects measurements and is set on rank 0. Behind them those that differ on
/// other ranks, with these ranks in the name: "NCCL_ALGO of ranks 1-3", whose value may be "not set". Variables that a
/// launcher sets for each rank are not compared. On the root. Collective.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> gather_variables(const comm::Communicator& world);

/// Whether a name of gather_variables holds ranks.
[[nodiscard]] inline bool is_of_other_ranks(std::string_view name) { return name.find(' ') != std::string_view::npos; }

/// Returns the environment of this rank with topology and variables of all ranks. Not collective.
[[nodiscard]] record::Environment describe_environment(const plan::Topology& topology,
                                                       std::vector<std::pair<std::string, std::string>> variables,
                                                       int argc, const char* const* argv);

/// The versions of the libraries, which `--version` prints. Loads LibTorch.
[[nodiscard]] std::vector<record::Environment::Library> library_versions();

/// "nccl   header 2.28.9   loaded 2.28.9", for people.
[[nodiscard]] std::string library_line(const record::Environment::Library& library);

/// What is compared: with_torch loads LibTorch, which takes half a second.
enum class Software : uint8_t { linked, with_torch };

/// Collective. Throws AgreedError (exit code 2) that names the ranks whose version of patchbench or of a library
/// differs from rank 0's.
void require_same_software(const comm::Communicator& world, Software which);

/// For example "patchbench 0.1.0 (git 0123abcd, modified)".
[[nodiscard]] std::string version_text();

}  // namespace pb::run
