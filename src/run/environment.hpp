// Describes the machine and software of a study, and the ranks of its launch.
#pragma once

#include "comm/communicator.hpp"
#include "config/settings.hpp"
#include "plan/topology.hpp"
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

/// Collective. Throws AgreedError (exit code 2) that names the ranks whose version of patchbench or subcommand differs
/// from rank 0's: they would wait for each other, or read what others send in another form. Both are sent as text,
/// which must stay so in later versions.
void require_same_program(const comm::Communicator& world, const std::string& subcommand);

/// What is compared: with_torch loads LibTorch, which takes half a second.
enum class Software : uint8_t { linked, with_torch };

/// Collective. Throws AgreedError (exit code 2) that names the ranks whose version of a library differs from
/// rank 0's.
void require_same_software(const comm::Communicator& world, Software which);

/// For example "patchbench 0.1.0 (git 0123abcd, modified)".
[[nodiscard]] std::string version_text();

/// Throws UsageError when the launcher started more ranks than MPI sees: they would run as independent copies.
void check_launcher(const comm::Communicator& world);

/// Collective. Assigns a device to each rank: the only visible one, or the one with its local rank as index. When there
/// are too few and sharing is not allowed, throws AgreedError that shows CUDA_VISIBLE_DEVICES and how to correct it.
/// Throws AgreedError (exit code 2) also when cuda is requested on a node without a GPU. `device` is the common setting
/// of all points; cpu does not use the GPUs.
[[nodiscard]] plan::Topology gather_topology(const comm::Communicator& world, config::DeviceChoice device,
                                             config::SharingRule sharing = config::SharingRule::error);

}  // namespace pb::run
