// Describes the machine and software of a study.
#pragma once

#include "comm/communicator.hpp"
#include "record/environment.hpp"

namespace pb::run {

/// This build. cmake/BuildInfo.cmake generates the definition.
[[nodiscard]] const record::Build& build_info();

/// Returns the environment of this rank with the topology of all ranks. Not collective.
[[nodiscard]] record::Environment describe_environment(const plan::Topology& topology, int argc,
                                                       const char* const* argv);

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
