#include "device/host_memory.hpp"

#include "base/rank_list.hpp"
#include "base/user_paths.hpp"
#include "device/cgroup.hpp"
#include "device/kernel_text.hpp"

#include "patchbench/base/error.hpp"

#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>

namespace pb {
namespace {

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

/// A line that the kernel does not have is none; that this process may open no more files is an error of its own.
std::optional<int64_t> find_line(const std::filesystem::path& file, const char* line) {
    const auto bytes = find_bytes(file, line);
    errno = 0;
    if (!bytes && !std::ifstream(file)) require_descriptors(file);
    return bytes;
}

}  // namespace

bool reset_resident_peak() {
    malloc_trim(0);
    std::ofstream clear_refs("/proc/self/clear_refs");
    clear_refs << 5 << std::flush;  // 5: only the peak (proc(5))
    return clear_refs.good();
}

std::optional<int64_t> resident_peak_bytes(const std::filesystem::path& root) {
    return find_line(root / "proc/self/status", "VmHWM");
}

std::optional<int64_t> available_host_memory_bytes(const std::filesystem::path& root) {
    const auto available = find_line(root / "proc/meminfo", "MemAvailable");
    const auto remaining = cgroup_remaining_bytes(root);
    return available && remaining ? std::min(available, remaining) : available ? available : remaining;
}

double process_cpu_seconds() {
    rusage usage{};
    require(getrusage(RUSAGE_SELF, &usage) == 0, "getrusage failed");
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::vector<int> affinity() {
    // The kernel refuses a set smaller than its own: grow until it fits.
    for (int capacity = CPU_SETSIZE; capacity <= 1 << 20; capacity *= 2) {
        const size_t bytes = CPU_ALLOC_SIZE(capacity);
        const auto free_set = [](cpu_set_t* set) { CPU_FREE(set); };
        const std::unique_ptr<cpu_set_t, decltype(free_set)> set(CPU_ALLOC(capacity), free_set);
        if (sched_getaffinity(0, bytes, set.get()) != 0) continue;
        std::vector<int> processors;
        for (int processor = 0; processor < capacity; ++processor)
            if (CPU_ISSET_S(processor, bytes, set.get())) processors.push_back(processor);
        return processors;
    }
    throw Error("sched_getaffinity failed: the processors of this process are unknown");
}

std::string affinity_text(const std::vector<int>& processors) { return runs_text(processors, ","); }

}  // namespace pb
