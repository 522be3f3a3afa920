// Memory of this process and its host, and the limits of its control group, by counters of the kernel (Linux). A
// kernel or a container that shows less of them (gVisor, a /proc that is masked) leaves figures out; it never ends a
// study. `root` is "/" but in tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace pb::device {

/// Gives memory that malloc kept back to the kernel and restarts the resident peak (malloc_trim,
/// /proc/self/clear_refs). Returns false where the kernel refuses; the peak then covers the whole life of the process.
bool reset_resident_peak();

/// Peak resident set in bytes since the last reset (VmHWM); none where the kernel does not tell.
[[nodiscard]] std::optional<int64_t> resident_peak_bytes(const std::filesystem::path& root = "/");

/// MemTotal of the host in bytes; 0 where the kernel does not tell.
[[nodiscard]] int64_t host_memory_bytes();

/// MemAvailable of the host in bytes, and the control group's remaining allowance where that is less; none where
/// neither is known.
[[nodiscard]] std::optional<int64_t> available_host_memory_bytes(const std::filesystem::path& root = "/");

/// Whether so much can be taken: 1/16 of what is available is left for page tables and other processes, because the
/// kernel grants more than there is and then kills a process. True where nothing is known.
[[nodiscard]] bool fits_host_memory(size_t bytes, const std::filesystem::path& root = "/");

/// CPU seconds (user and system) used by this process so far.
[[nodiscard]] double process_cpu_seconds();

// The same of another process of this user, by its number. 0 stands for no process; figures are 0 when it has ended.
bool reset_resident_peak_of(int process);
/// Without the memory that it shares with others.
[[nodiscard]] int64_t own_resident_peak_bytes_of(int process);
[[nodiscard]] double cpu_seconds_of(int process);

// Readers of the kernel's small text files: "name: value" or "name value" lines, and single numbers.

/// The value of the first line `name: value` or `name value`, without surrounding blanks; none when there is no such
/// line.
[[nodiscard]] std::optional<std::string> find_value(const std::filesystem::path& file, const std::string& name);

/// `find_value` as bytes; understands the suffix kB.
[[nodiscard]] std::optional<int64_t> find_bytes(const std::filesystem::path& file, const std::string& name);

/// The number that a file holds; none when the file is absent or holds something else ("max").
[[nodiscard]] std::optional<int64_t> find_number(const std::filesystem::path& file);

// Limits of the control group of this process. Batch systems and containers limit memory and processor time below the
// host's, by version 1 or 2 of the kernel's interface (cgroups(7)). The tightest limit holds: that of the group or of a
// group above it.

/// Bytes that the group may still take. File cache that the kernel would drop counts as left. None without a limit.
[[nodiscard]] std::optional<int64_t> cgroup_remaining_bytes(const std::filesystem::path& root = "/");

/// Processor time per second of all processes of the group: 1.5 for a quota of 150 ms in periods of 100 ms. None
/// without a limit.
[[nodiscard]] std::optional<double> cgroup_processor_limit(const std::filesystem::path& root = "/");

}  // namespace pb::device
