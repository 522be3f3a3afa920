// Stores the fastest plan of each fused layer between runs, in one file per layer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace pb::engine::torch_engine {

/// $PATCHBENCH_CACHE, or else patchbench/ in $XDG_CACHE_HOME or ~/.cache; empty when none of these is set.
[[nodiscard]] std::filesystem::path cache_folder();

/// Losing the cache costs only time, so errors are ignored: a file that cannot be read counts as absent, and a plan
/// that cannot be written is not kept.
class PlanCache {
  public:
    /// `folder` is for one device and one set of versions; empty for no cache.
    explicit PlanCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// Name of the plan: one line of at most 1000 characters.
    [[nodiscard]] std::optional<std::string> find(const std::string& layer) const;
    void keep(const std::string& layer, const std::string& plan) const;

  private:
    [[nodiscard]] std::filesystem::path file_of(const std::string& layer) const { return folder_ / (layer + ".plan"); }

    std::filesystem::path folder_;
};

}  // namespace pb::engine::torch_engine
