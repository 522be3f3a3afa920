#include "engine/torch/fusion/plan_cache.hpp"

#include "base/atomic_file.hpp"
#include "base/user_paths.hpp"

#include <cstdlib>
#include <fstream>

namespace pb::engine::torch_engine {

namespace fs = std::filesystem;

fs::path cache_folder() {
    const auto named = [](const char* variable) {
        const char* folder = std::getenv(variable);
        return fs::path(folder == nullptr ? "" : folder);
    };
    if (fs::path own = named("PATCHBENCH_CACHE"); !own.empty()) return own;
    if (const fs::path caches = named("XDG_CACHE_HOME"); caches.is_absolute()) return caches / "patchbench";
    const fs::path home = named("HOME");
    return home.is_absolute() ? home / ".cache" / "patchbench" : fs::path();
}

std::optional<std::string> PlanCache::find(const std::string& layer) const {
    constexpr size_t kLongest = 1000;
    std::error_code none;
    if (folder_.empty() || !fs::is_regular_file(file_of(layer), none)) return std::nullopt;
    std::ifstream file(file_of(layer));
    std::string plan(kLongest, '\0');
    file.read(plan.data(), static_cast<std::streamsize>(plan.size()));
    plan.resize(static_cast<size_t>(file.gcount()));
    const size_t end = plan.find('\n');
    if (end == 0 || end == std::string::npos) return std::nullopt;
    return plan.substr(0, end);
}

void PlanCache::keep(const std::string& layer, const std::string& plan) const {
    if (folder_.empty()) return;
    try {
        make_folder(folder_);
        write_whole(file_of(layer), plan + "\n");
    } catch (const std::exception&) {
        // The next run times the plans again.
    }
}

}  // namespace pb::engine::torch_engine
