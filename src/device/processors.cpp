#include "device/processors.hpp"

#include "base/text.hpp"
#include "device/host_memory.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/device/device.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace pb::device {
namespace {

namespace fs = std::filesystem;

std::vector<int> read_processors(const fs::path& file) {
    std::string line;
    std::ifstream stream(file);
    std::getline(stream, line);
    return parse_processors(line);
}

bool meet(const std::vector<int>& some, const std::vector<int>& others) {
    return std::ranges::any_of(some, [&](int one) { return std::ranges::find(others, one) != others.end(); });
}

std::string machine_name() {
    utsname names{};
    return uname(&names) == 0 ? std::string(names.machine) + " processor" : "processor";
}

}  // namespace

std::string instruction_set(const std::string& flags) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kWidestFirst{
        {{"amx_bf16", "AMX_BF16"},
         {"avx512_bf16", "AVX512_BF16"},
         {"avx512f", "AVX-512"},
         {"avx2", "AVX2"},
         {"avx", "AVX"},
         {"sve2", "SVE2"},
         {"sve", "SVE"},
         {"asimd", "NEON"}}};
    std::istringstream text(flags);
    const std::set<std::string, std::less<>> words{std::istream_iterator<std::string>(text), {}};
    for (const auto& [flag, name] : kWidestFirst)
        if (words.contains(flag)) return std::string(name);
    return "baseline";
}

DeviceInfo cpu_device() {
    DeviceInfo info;
    info.name = find_value("/proc/cpuinfo", "model name").value_or(machine_name());
    const auto flags = find_value("/proc/cpuinfo", "flags");  // "Features" on ARM
    info.capability = instruction_set(flags ? *flags : find_value("/proc/cpuinfo", "Features").value_or(""));
    info.memory_bytes = host_memory_bytes();
    return info;
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

int usable_processors() {
    const auto allowed = static_cast<double>(affinity().size());
    return std::max(1, static_cast<int>(std::min(allowed, cgroup_processor_limit().value_or(allowed))));
}

std::vector<int> parse_processors(const std::string& text) {
    constexpr int kMost = 1 << 20;  // a hostile range must not fill the memory
    std::vector<int> processors;
    for (const std::string_view part : split(text, ",")) {
        const size_t dash = part.find('-');
        const std::string_view last = dash == std::string_view::npos ? part : part.substr(dash + 1);
        int begin = 0, end = 0;
        if (!read_number(part.substr(0, dash), begin) || !read_number(last, end) || end > kMost) return {};
        for (int processor = begin; processor <= end; ++processor) processors.push_back(processor);
    }
    return processors;
}

std::vector<int> ProcessorLayout::processors() const { return read_processors(sys_ / "devices/system/cpu/online"); }

std::vector<int> ProcessorLayout::cores_of(const std::vector<int>& processors) const {
    std::set<int> cores;
    for (const int processor : processors) {
        const fs::path folder = sys_ / "devices/system/cpu" / fmt::format("cpu{}", processor) / "topology";
        const auto siblings = read_processors(folder / "thread_siblings_list");
        cores.insert(siblings.empty() ? processor : *std::ranges::min_element(siblings));
    }
    return {cores.begin(), cores.end()};
}

std::vector<int> ProcessorLayout::memory_nodes_of(const std::vector<int>& processors) const {
    std::vector<int> nodes;
    for (const int node : read_processors(sys_ / "devices/system/node/online")) {
        const fs::path folder = sys_ / "devices/system/node" / fmt::format("node{}", node);
        if (meet(processors, read_processors(folder / "cpulist"))) nodes.push_back(node);
    }
    return nodes;
}

std::optional<int> ProcessorLayout::memory_node_of_device(const std::string& pci_bus_id) const {
    const auto node = find_number(sys_ / "bus/pci/devices" / pci_bus_id / "numa_node");
    if (!node || *node < 0) return std::nullopt;  // -1: the firmware does not say
    return static_cast<int>(*node);
}

}  // namespace pb::device
