// Finds what tiling must know of a network by running windows through it. A line on stderr shows that this goes on, for
// large networks take minutes.
#pragma once

#include "app/custom_networks.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <filesystem>

namespace pb::app {

/// Tries the network in `file` with the engine of `options`, unless an earlier run kept in `cache` what it found with
/// the same versions; an empty path: nothing is kept. Throws UsageError that names the file.
[[nodiscard]] LookedAt try_network(const std::filesystem::path& file, const engine::EngineOptions& options,
                                   const std::filesystem::path& cache);

/// Finds the range of a network whose operations are known. Throws likewise.
[[nodiscard]] LookedAt try_range(const std::filesystem::path& file, const network::NetworkCard& card);

}  // namespace pb::app
