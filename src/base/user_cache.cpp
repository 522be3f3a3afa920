#include "base/user_cache.hpp"

#include "base/atomic_file.hpp"
#include "base/user_paths.hpp"

#include <fstream>

namespace pb {

namespace fs = std::filesystem;

fs::path cache_folder() {
    const auto named = [](const char* variable) { return fs::path(environment_value(variable)); };
    if (fs::path own = named("PATCHBENCH_CACHE"); !own.empty()) return own == "off" ? fs::path() : own;
    if (const fs::path caches = named("XDG_CACHE_HOME"); caches.is_absolute()) return caches / "patchbench";
    const fs::path home = named("HOME");
    return home.is_absolute() ? home / ".cache" / "patchbench" : fs::path();
}

std::optional<std::string> UserCache::find(const std::string& question) const {
    std::error_code none;
    if (folder_.empty() || !fs::is_regular_file(file_of(question), none)) return std::nullopt;
    std::ifstream file(file_of(question));
    std::string answer(kLongestAnswer + 1, '\0');  // with the end of its line
    file.read(answer.data(), static_cast<std::streamsize>(answer.size()));
    answer.resize(static_cast<size_t>(file.gcount()));
    const size_t end = answer.find('\n');
    if (end == 0 || end == std::string::npos) return std::nullopt;
    return answer.substr(0, end);
}

void UserCache::keep(const std::string& question, const std::string& answer) const {
    if (folder_.empty() || answer.size() > kLongestAnswer) return;
    try {
        make_folder(folder_);
        write_whole(file_of(question), answer + "\n");
    } catch (const std::exception&) {
        // The next run tries again.
    }
}

}  // namespace pb
