// Memory of this process and its host, by counters of the kernel (Linux). A kernel or a container that shows less of
// them (gVisor, a /proc that is masked) leaves figures out; it never ends a study. `root` is "/" but in tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

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

}  // namespace pb::device
