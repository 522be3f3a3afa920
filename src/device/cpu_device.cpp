#include "device/cpu_device.hpp"

#include "device/kernel_text.hpp"

#include "patchbench/device/device.hpp"

#include <sys/utsname.h>

#include <array>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace pb::device {
namespace {

std::string machine_name() {
    utsname names{};
    return uname(&names) == 0 ? std::string(names.machine) + " processor" : "processor";
}

}  // namespace

int64_t host_memory_bytes() { return find_bytes("/proc/meminfo", "MemTotal").value_or(0); }

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

}  // namespace pb::device
