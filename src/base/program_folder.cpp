#include "base/program_folder.hpp"

#include <system_error>

namespace pb {

namespace fs = std::filesystem;

fs::path program_folder() {
    std::error_code unknown;
    return fs::read_symlink("/proc/self/exe", unknown).parent_path();
}

std::optional<fs::path> find_folder_with(const fs::path& file) {
    std::error_code unknown;
    for (fs::path folder = program_folder(); folder.has_relative_path(); folder = folder.parent_path())
        if (fs::exists(folder / file, unknown)) return folder;
    return std::nullopt;
}

}  // namespace pb
