#include "device/host_memory.hpp"

#include "base/user_paths.hpp"

#include "patchbench/base/error.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

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

/// Version 1 says "no limit" by a number near 2^63.
constexpr int64_t kNoLimit = int64_t{1} << 60;

struct Membership {
    bool is_version_1 = false;
    std::string group;  // "/user.slice/job_7"
};

/// Lines of /proc/self/cgroup: "4:memory:/group" (version 1) or "0::/group" (version 2); a controller of version 1
/// wins, since version 2 then has none.
std::optional<Membership> find_membership(const fs::path& root, const std::string& controller) {
    std::ifstream lines(root / "proc/self/cgroup");
    std::optional<Membership> found;
    for (std::string line; std::getline(lines, line);) {
        const size_t first = line.find(':');
        const size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = std::string(",").append(line, first + 1, second - first - 1) + ",";
        const std::string group = line.substr(second + 1);
        if (controllers.find("," + controller + ",") != std::string::npos) return Membership{true, group};
        if (controllers == ",,") found = Membership{false, group};
    }
    return found;
}

/// The least of the limits `limit_in(folder, is_version_1)` of the process's group of a controller and of those above.
template <class LimitIn>
auto find_tightest(const fs::path& root, const std::string& controller, const LimitIn& limit_in)
    -> decltype(limit_in(root, true)) {
    const auto membership = find_membership(root, controller);
    if (!membership) return std::nullopt;
    const fs::path mount = root / "sys/fs/cgroup" / (membership->is_version_1 ? controller : "");
    decltype(limit_in(root, true)) least;
    // A container may see its own group as the mount itself: absent folders are skipped on the way up.
    for (fs::path group = fs::path(membership->group).relative_path();; group = group.parent_path()) {
        if (const auto limit = limit_in(mount / group, membership->is_version_1))
            least = std::min(least.value_or(*limit), *limit);
        if (group.empty()) return least;
    }
}

std::optional<int64_t> remaining_bytes_in(const fs::path& folder, bool is_version_1) {
    const auto limit = find_number(folder / (is_version_1 ? "memory.limit_in_bytes" : "memory.max"));
    const auto usage = find_number(folder / (is_version_1 ? "memory.usage_in_bytes" : "memory.current"));
    if (!limit || !usage || *limit >= kNoLimit) return std::nullopt;
    const char* droppable_files = is_version_1 ? "total_inactive_file" : "inactive_file";
    const int64_t droppable = find_bytes(folder / "memory.stat", droppable_files).value_or(0);
    return std::max<int64_t>(0, *limit - std::max<int64_t>(0, *usage - droppable));
}

/// cpu.max holds "<quota> <period>" in microseconds, or "max <period>"; version 1 has a file for each, and the quota
/// -1.
std::optional<double> processor_limit_in(const fs::path& folder, bool is_version_1) {
    int64_t quota_us = 0, period_us = 0;
    if (is_version_1) {
        quota_us = find_number(folder / "cpu.cfs_quota_us").value_or(-1);
        period_us = find_number(folder / "cpu.cfs_period_us").value_or(0);
    } else {
        std::ifstream(folder / "cpu.max") >> quota_us >> period_us;
    }
    if (quota_us <= 0 || period_us <= 0) return std::nullopt;
    return static_cast<double>(quota_us) / static_cast<double>(period_us);
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

std::optional<std::string> find_value(const std::filesystem::path& file, const std::string& name) {
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        // "Mem" must not find "MemTotal".
        if (!line.starts_with(name) || line.find_first_of(": \t", name.size()) != name.size()) continue;
        const size_t begin = line.find_first_not_of(" \t:", name.size());
        if (begin == std::string::npos) return "";
        return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    }
    return std::nullopt;
}

std::optional<int64_t> find_bytes(const std::filesystem::path& file, const std::string& name) {
    const auto value = find_value(file, name);
    if (!value) return std::nullopt;
    std::istringstream text(*value);
    int64_t number = 0;
    std::string unit;
    if (!(text >> number)) return std::nullopt;
    text >> unit;
    return unit == "kB" ? number * 1024 : number;
}

std::optional<int64_t> find_number(const std::filesystem::path& file) {
    std::ifstream stream(file);
    int64_t number = 0;
    if (!(stream >> number)) return std::nullopt;
    return number;
}

std::optional<int64_t> cgroup_remaining_bytes(const fs::path& root) {
    return find_tightest(root, "memory", remaining_bytes_in);
}

std::optional<double> cgroup_processor_limit(const fs::path& root) {
    return find_tightest(root, "cpu", processor_limit_in);
}

}  // namespace pb::device
