// What a sampler reads again and again while a point is timed: a GPU (nvml.hpp) or this process on its cores.
#pragma once

#include "base/telemetry_record.hpp"

#include <chrono>
#include <optional>

namespace pb {

/// Why the clocks are lower than they could be, now.
struct SlowReasons {
    bool power_cap = false;
    bool thermal = false;
    bool hardware = false;  // hardware slowdown (temperature, power) or external power brake
};

class GaugeSource {
  public:
    virtual ~GaugeSource() = default;
    /// None where the source does not have the gauge, or does not answer.
    [[nodiscard]] virtual std::optional<double> read(Gauge gauge) = 0;
    [[nodiscard]] virtual std::optional<SlowReasons> slow_reasons() { return std::nullopt; }
};

/// A CPU rank: utilisation of its cores = CPU time of the process since the last reading / (time x cores).
class ProcessGauges final : public GaugeSource {
  public:
    explicit ProcessGauges(int num_cores);
    [[nodiscard]] std::optional<double> read(Gauge gauge) override;

  private:
    int num_cores_;
    std::chrono::steady_clock::time_point last_;
    double last_cpu_s_;
};

}  // namespace pb
