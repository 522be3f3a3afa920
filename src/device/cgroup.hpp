// What the control group of this process still allows it to take: batch systems and containers limit memory below the
// host's (versions 1 and 2 of the kernel's interface).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace pb {

/// Bytes left until the tightest limit of the process's memory group and the groups above it; file cache that the
/// kernel would drop counts as left. None without a limit. `root` is "/" but in tests.
[[nodiscard]] std::optional<int64_t> cgroup_remaining_bytes(const std::filesystem::path& root = "/");

}  // namespace pb
