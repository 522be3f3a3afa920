#include "device/host_memory.hpp"

#include "base/user_paths.hpp"
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

/// File names of one version of the interface, and where the hierarchy is mounted.
struct Interface {
    const char* mount;
    const char* limit;
    const char* usage;
    const char* droppable;  // key in memory.stat
};
constexpr Interface kVersion1{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                              "total_inactive_file"};
constexpr Interface kVersion2{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

/// Version 1 says "no limit" by a number near 2^63.
constexpr int64_t kNoLimit = int64_t{1} << 60;

struct Membership {
    Interface interface;
    std::string group;  // "/user.slice/job_7"
};

/// Lines of /proc/self/cgroup: "4:memory:/group" (version 1) or "0::/group" (version 2); a memory controller of version
/// 1 wins, since version 2 then has none.
std::optional<Membership> find_membership(const fs::path& root) {
    std::ifstream lines(root / "proc/self/cgroup");
    std::optional<Membership> found;
    for (std::string line; std::getline(lines, line);) {
        const size_t first = line.find(':');
        const size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = std::string(",").append(line, first + 1, second - first - 1) + ",";
        const std::string group = line.substr(second + 1);
        if (controllers.find(",memory,") != std::string::npos) return Membership{kVersion1, group};
        if (controllers == ",,") found = Membership{kVersion2, group};
    }
    return found;
}

std::optional<int64_t> remaining_in(const fs::path& folder, const Interface& interface) {
    const auto limit = find_number(folder / interface.limit);
    const auto usage = find_number(folder / interface.usage);
    if (!limit || !usage || *limit >= kNoLimit) return std::nullopt;
    const int64_t droppable = find_bytes(folder / "memory.stat", interface.droppable).value_or(0);
    return std::max<int64_t>(0, *limit - std::max<int64_t>(0, *usage - droppable));
}

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

std::optional<int64_t> cgroup_remaining_bytes(const fs::path& root) {
    const auto membership = find_membership(root);
    if (!membership) return std::nullopt;
    const fs::path mount = root / membership->interface.mount;
    std::optional<int64_t> least;
    // A container may see its own group as the mount itself: absent folders are skipped on the way up.
    for (fs::path group = fs::path(membership->group).relative_path();; group = group.parent_path()) {
        if (const auto remaining = remaining_in(mount / group, membership->interface))
            least = std::min(least.value_or(*remaining), *remaining);
        if (group.empty()) return least;
    }
}

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
