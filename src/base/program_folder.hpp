// Folders that lie beside the program or above it: models/, engines/.
#pragma once

#include <filesystem>
#include <optional>

namespace pb {

/// The folder of the running program. Empty where /proc does not exist.
[[nodiscard]] std::filesystem::path program_folder();

/// The folder of the program, or the first one above it, in which `file` exists; none if there is no such folder.
[[nodiscard]] std::optional<std::filesystem::path> find_folder_with(const std::filesystem::path& file);

}  // namespace pb
