// Limits of the control group of this process. Batch systems and containers limit memory and processor time below the
// host's, by version 1 or 2 of the kernel's interface (cgroups(7)). The tightest limit holds: that of the group or of a
// group above it. `root` is "/" but in tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace pb::device {

/// Bytes that the group may still take. File cache that the kernel would drop counts as left. None without a limit.
[[nodiscard]] std::optional<int64_t> cgroup_remaining_bytes(const std::filesystem::path& root = "/");

/// Processor time per second of all processes of the group: 1.5 for a quota of 150 ms in periods of 100 ms. None
/// without a limit.
[[nodiscard]] std::optional<double> cgroup_processor_limit(const std::filesystem::path& root = "/");

}  // namespace pb::device
