#include "device/control_group.hpp"

#include "device/kernel_text.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace pb::device {
namespace {

namespace fs = std::filesystem;

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

std::optional<int64_t> cgroup_remaining_bytes(const fs::path& root) {
    return find_tightest(root, "memory", remaining_bytes_in);
}

std::optional<double> cgroup_processor_limit(const fs::path& root) {
    return find_tightest(root, "cpu", processor_limit_in);
}

}  // namespace pb::device
