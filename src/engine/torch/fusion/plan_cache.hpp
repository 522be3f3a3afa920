// Which plan was the fastest for a fused layer, kept from one run to the next: a file a layer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace pb::torch_engine {

/// $PATCHBENCH_CACHE, or else patchbench/ in $XDG_CACHE_HOME or ~/.cache; empty where none of these is known.
[[nodiscard]] std::filesystem::path cache_folder();

/// A cache costs nothing but time where it is lost: what cannot be read is not there, what cannot be written is not
/// kept.
class PlanCache {
  public:
    /// `folder`: of one device and one set of versions; empty for none.
    explicit PlanCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// The plan's name, one line of at most 1000 characters.
    [[nodiscard]] std::optional<std::string> find(const std::string& layer) const;
    void keep(const std::string& layer, const std::string& plan) const;

  private:
    [[nodiscard]] std::filesystem::path file_of(const std::string& layer) const { return folder_ / (layer + ".plan"); }

    std::filesystem::path folder_;
};

}  // namespace pb::torch_engine
