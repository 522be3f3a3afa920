// What the counters of a rank's device and host said while a point was timed. Values only, each absent (never 0) where
// it was not or could not be read. Names, units and order stand once, in the tables below.
#pragma once

#include "patchbench/base/enum_names.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace pb {

/// Read again and again while the repetitions run.
enum class Gauge : uint8_t { sm_clock_mhz, memory_clock_mhz, temperature_c, power_w, utilisation_percent };

/// One figure for the whole of a point.
enum class Meter : uint8_t {
    observed_s,           // first timed repetition to the last, what lies between them included
    energy_j,             // of this rank's device, over the timed passes alone
    cpu_energy_j,         // of the host's processors, over the timed passes alone; first rank of a node only
    thermal_s,            // held down by temperature: the driver's counter, else samples that said so
    power_cap_s,          // held down by the power limit: likewise
    hardware_slowdown_s,  // hardware slowdown or power brake: samples that said so
    other_processes,      // most that were seen on the device beside this one
    // Of the host, while the rank was watched; all but the first on one rank of a node only.
    own_cpu_s,            // CPU time of the rank's process
    host_cpu_s,           // CPU time of everything that ran on the host, this process among it
    steal_s,              // time of its cores that the hypervisor gave to others, summed over cores
    cpu_pressure_s,       // time in which something that could run waited for a core
    cpu_clock_begin_mhz,  // mean clock of some of its cores, before
    cpu_clock_end_mhz     // and after
};

/// For the schema of results, where the name does not say it all.
[[nodiscard]] constexpr const char* meaning_of(Meter meter) {
    constexpr std::pair<Meter, const char*> kMeanings[] = {
        {Meter::energy_j, "of the rank's device, timed passes only"},
        {Meter::cpu_energy_j, "of the host's processors, timed passes only; first rank of a node"},
        {Meter::own_cpu_s, "CPU time of the rank's process while it was watched"},
        {Meter::host_cpu_s,
         "CPU time of everything on the host meanwhile; this and what follows: first rank of a node"},
        {Meter::steal_s, "time of its cores that the hypervisor gave to others"},
        {Meter::cpu_pressure_s, "time in which something waited for a core"}};
    for (const auto& [described, meaning] : kMeanings)
        if (described == meter) return meaning;
    return "";
}

struct TelemetrySample {
    double at_s = 0;  // since the first timed repetition began
    EnumArray<Gauge, std::optional<double>> gauges;
    [[nodiscard]] const std::optional<double>& operator[](Gauge gauge) const { return gauges[gauge]; }
    [[nodiscard]] std::optional<double>& operator[](Gauge gauge) { return gauges[gauge]; }
};

struct TelemetryRecord {
    bool first_on_node = false;  // this rank answers for its host's processors
    EnumArray<Meter, std::optional<double>> meters;
    std::vector<TelemetrySample> samples;  // about ten a second, fewer in long points; on the CPU utilisation alone
    [[nodiscard]] bool empty() const { return samples.empty() && meters == decltype(meters){}; }
    [[nodiscard]] const std::optional<double>& operator[](Meter meter) const { return meters[meter]; }
    [[nodiscard]] std::optional<double>& operator[](Meter meter) { return meters[meter]; }
};

}  // namespace pb
