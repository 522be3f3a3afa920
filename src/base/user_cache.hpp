// What earlier runs on this machine found by trying, kept in the user's cache folder: one file for each answer.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace pb {

/// $PATCHBENCH_CACHE, or else patchbench/ in $XDG_CACHE_HOME or ~/.cache; empty when none of these is set, and when
/// PATCHBENCH_CACHE is `off`.
[[nodiscard]] std::filesystem::path cache_folder();

/// Losing the cache costs only time, so errors are ignored: a file that cannot be read counts as absent, and an answer
/// that cannot be written is not kept.
class UserCache {
  public:
    static constexpr size_t kLongestAnswer = size_t{1} << 16;

    /// `folder` is for one kind of answers, of one device and one set of versions; empty for no cache.
    explicit UserCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// The answer is one line of at most kLongestAnswer characters: a longer one is not kept. `question` becomes the
    /// name of a file.
    [[nodiscard]] std::optional<std::string> find(const std::string& question) const;
    void keep(const std::string& question, const std::string& answer) const;

  private:
    [[nodiscard]] std::filesystem::path file_of(const std::string& question) const {
        return folder_ / (question + ".txt");
    }

    std::filesystem::path folder_;
};

}  // namespace pb
