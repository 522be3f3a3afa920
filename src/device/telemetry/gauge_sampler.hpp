// The gauges of a GPU (nvml.hpp) or of this process on its cores, and the thread that reads them while a point is
// timed.
#pragma once

#include "base/stopwatch.hpp"
#include "base/telemetry_record.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace pb::device {

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
    Stopwatch watch_;  // since the last reading
    double last_cpu_s_;
};

/// Samples from construction to stop(). Memory is bounded: when the samples fill their place every other one is dropped
/// and the period doubles. At ten samples a second the thread is busy for well under 1 % of one core.
class GaugeSampler {
  public:
    static constexpr std::chrono::milliseconds kPeriod{100};
    static constexpr size_t kCapacity = 256;

    /// `source` must outlive it, and no other thread may read its gauges meanwhile.
    explicit GaugeSampler(GaugeSource& source, std::chrono::milliseconds period = kPeriod);
    void stop();

    // After stop():
    [[nodiscard]] const std::vector<TelemetrySample>& samples() const { return samples_; }
    /// Seconds for which samples said so (each stands for the time since the one before); none when the driver never
    /// answered.
    [[nodiscard]] std::optional<double> thermal_s() const { return if_answered(thermal_s_); }
    [[nodiscard]] std::optional<double> power_cap_s() const { return if_answered(power_cap_s_); }
    [[nodiscard]] std::optional<double> hardware_s() const { return if_answered(hardware_s_); }
    [[nodiscard]] double observed_s() const { return last_s_; }

  private:
    [[nodiscard]] std::optional<double> if_answered(double seconds) const {
        return answered_ ? std::optional(seconds) : std::nullopt;
    }
    void run(const std::stop_token& stop);
    void sample();
    void thin_out();

    GaugeSource& source_;
    std::chrono::milliseconds period_;
    Stopwatch watch_;
    std::vector<TelemetrySample> samples_;
    double last_s_ = 0;
    bool answered_ = false;
    double thermal_s_ = 0, power_cap_s_ = 0, hardware_s_ = 0;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::jthread thread_;  // last: it uses all others
};

}  // namespace pb::device
