// What the kernel (Linux) has counted of this host so far: CPU time, steal time, waiting for cores, clocks. Differences
// of two readings say what went on between them. Whatever cannot be read is absent.
#pragma once

#include <filesystem>
#include <optional>

namespace pb::device {

struct HostLoadFiles {
    std::filesystem::path stat;      // as /proc/stat
    std::filesystem::path pressure;  // as /proc/pressure/cpu
    std::filesystem::path cpus;      // as /sys/devices/system/cpu
};

struct HostLoad {
    std::optional<double> cpu_s;       // everything that ran, all cores
    std::optional<double> steal_s;     // that the hypervisor gave to others, all cores
    std::optional<double> pressure_s;  // in which something that could run waited
    std::optional<double> clock_mhz;   // mean of the first cores, now
};

[[nodiscard]] HostLoad read_host_load(const HostLoadFiles& files);

}  // namespace pb::device
