// The trace of three_rank_trace.hpp with the telemetry of three GPUs on two nodes (ranks 0 and 1, rank 2), their upper
// bounds and the link between the nodes.
#pragma once

#include "three_rank_trace.hpp"

namespace pb {

/// Uses 600, 1200 and 1800 J on the devices and 300 and 900 J on the hosts, over six passes. Clocks are around 1800 MHz
/// (rank 1: 1850, rank 2: 1900), with at most 40, 50 and 60 degrees C. No device throttles.
inline record::PointTrace watched_trace() {
    record::PointTrace trace = three_rank_trace();
    trace.point.device = DeviceKind::cuda;
    trace.exchange = {.carrier = "MPI", .bytes = 50 << 20, .link_bytes_per_s = 2e9, .link_latency_s = 1e-5};
    for (auto& rank : trace.ranks) {
        for (auto& stages : rank.stage_s) stages[static_cast<size_t>(record::Stage::exchange)] = 0.05;
        auto& record = rank.telemetry;
        record.first_on_node = rank.rank != 1;
        record[Meter::observed_s] = 20;
        record[Meter::energy_j] = 600 * (rank.rank + 1);
        if (record.first_on_node) record[Meter::cpu_energy_j] = rank.rank == 0 ? 300 : 900;
        record[Meter::thermal_s] = record[Meter::power_cap_s] = record[Meter::hardware_slowdown_s] = 0;
        record[Meter::other_processes] = 0;
        for (const auto& [bound, name] : enum_table<record::Bound>()) rank.bounds[bound] = 10 + rank.rank;
        rank.bounds[record::Bound::d2h_gb_per_s].reset();
        for (int i = 0; i < 3; ++i) {
            auto& sample = record.samples.emplace_back();
            sample.at_s = 0.1 * i;
            sample[Gauge::sm_clock_mhz] = 1750 + 50 * (rank.rank + i);
            sample[Gauge::temperature_c] = 38 + 10 * rank.rank + i;
            sample[Gauge::utilisation_percent] = 60 + 30 * i;
        }
    }
    return trace;
}

}  // namespace pb
