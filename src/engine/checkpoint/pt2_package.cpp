// Packages of PyTorch (.pt2) are zip archives. What is in one, by the names of its entries.
#include "engine/brought.hpp"
#include "engine/checkpoint/zip_archive.hpp"

#include <algorithm>

namespace pb::engine {

bool is_compiled_package(const std::filesystem::path& file) {
    const std::vector<std::byte> bytes = read_file(file);
    const auto names = ZipArchive(bytes, file.string()).names();
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& name) { return name.find("data/aotinductor/") != std::string::npos; });
}

std::optional<EngineKind> sole_engine_of(const std::filesystem::path& file) {
    if (file.extension() != ".pt2" || is_compiled_package(file)) return std::nullopt;
    return EngineKind::pytorch;
}

}  // namespace pb::engine
