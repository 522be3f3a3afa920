#include "device/cgroup.hpp"

#include "device/kernel_text.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace pb {
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

}  // namespace

std::optional<int64_t> cgroup_remaining_bytes(const fs::path& root) {
    const auto membership = find_membership(root);
    if (!membership) return std::nullopt;
    const fs::path mount = root / membership->interface.mount;
    std::optional<int64_t> least;
    // A container may see its own group as the mount itself: folders that are absent are passed over on the way up.
    for (fs::path group = fs::path(membership->group).relative_path();; group = group.parent_path()) {
        if (const auto remaining = remaining_in(mount / group, membership->interface))
            least = std::min(least.value_or(*remaining), *remaining);
        if (group.empty()) return least;
    }
}

}  // namespace pb
