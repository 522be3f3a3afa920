// Which network a weights file is for, asked before a network is chosen. `load_weights` (patchbench/engine/weights.hpp)
// then reads the file for that network.
#pragma once

#include "patchbench/network/network_shape.hpp"

#include <filesystem>

namespace pb {

/// Reads the whole file. Throws UsageError as `load_weights` does.
[[nodiscard]] NetworkKind network_in_file(const std::filesystem::path& file);

}  // namespace pb
