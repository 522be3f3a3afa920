#include "device/host_memory.hpp"

#include "base/user_paths.hpp"
#include "device/control_group.hpp"
#include "device/kernel_text.hpp"

#include "patchbench/base/error.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>

namespace pb::device {
namespace {

namespace fs = std::filesystem;

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

fs::path folder_of(int process) { return fs::path("/proc") / std::to_string(process); }

bool restart_peak(const fs::path& process) {
    std::ofstream clear_refs(process / "clear_refs");
    clear_refs << 5 << std::flush;  // 5: only the peak (proc(5))
    return clear_refs.good();
}

/// None where the kernel has no such line; throws Error when this process may open no more files.
std::optional<int64_t> find_line(const fs::path& file, const char* line) {
    const auto bytes = find_bytes(file, line);
    errno = 0;
    if (!bytes && !std::ifstream(file)) require_descriptors(file);
    return bytes;
}

}  // namespace

bool reset_resident_peak() {
    malloc_trim(0);
    return restart_peak("/proc/self");
}

bool reset_resident_peak_of(int process) { return process > 0 && restart_peak(folder_of(process)); }

int64_t own_resident_peak_bytes_of(int process) {
    if (process <= 0) return 0;
    const fs::path status = folder_of(process) / "status";
    return find_bytes(status, "VmHWM").value_or(0) - find_bytes(status, "RssShmem").value_or(0);
}

std::optional<int64_t> resident_peak_bytes(const fs::path& root) {
    return find_line(root / "proc/self/status", "VmHWM");
}

int64_t host_memory_bytes() { return find_bytes("/proc/meminfo", "MemTotal").value_or(0); }

std::optional<int64_t> available_host_memory_bytes(const fs::path& root) {
    const auto available = find_line(root / "proc/meminfo", "MemAvailable");
    const auto remaining = cgroup_remaining_bytes(root);
    return available && remaining ? std::min(available, remaining) : available ? available : remaining;
}

bool fits_host_memory(size_t bytes, const fs::path& root) {
    constexpr int64_t kMarginPart = 16;
    const auto available = available_host_memory_bytes(root);
    return !available || bytes <= static_cast<size_t>(std::max<int64_t>(0, *available - *available / kMarginPart));
}

double process_cpu_seconds() {
    rusage usage{};
    require(getrusage(RUSAGE_SELF, &usage) == 0, "getrusage failed");
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double cpu_seconds_of(int process) {
    clockid_t clock{};
    timespec time{};
    if (process <= 0 || clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace pb::device
