#include "device/telemetry/gauge_sampler.hpp"

#include "device/host_memory.hpp"

namespace pb::device {
namespace {

/// Shorter intervals say more about the scheduler's turns than about the load.
constexpr double kShortestIntervalS = 0.001;

}  // namespace

ProcessGauges::ProcessGauges(int num_cores) : num_cores_(num_cores), last_cpu_s_(process_cpu_seconds()) {}

std::optional<double> ProcessGauges::read(Gauge gauge) {
    if (gauge != Gauge::utilisation_percent) return std::nullopt;
    if (watch_.seconds() < kShortestIntervalS) return std::nullopt;
    const double elapsed_s = watch_.lap();
    const double cpu_s = process_cpu_seconds();
    const double percent = 100 * (cpu_s - last_cpu_s_) / (elapsed_s * num_cores_);
    last_cpu_s_ = cpu_s;
    return percent;
}

GaugeSampler::GaugeSampler(GaugeSource& source, std::chrono::milliseconds period) : source_(source), period_(period) {
    samples_.reserve(kCapacity);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void GaugeSampler::stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
}

void GaugeSampler::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    do {
        sample();
        wake_.wait_for(lock, stop, period_, [] { return false; });
    } while (!stop.stop_requested());
    sample();  // a point shorter than the period has two
}

void GaugeSampler::sample() {
    if (samples_.size() == kCapacity) thin_out();
    TelemetrySample& sample = samples_.emplace_back();
    sample.at_s = watch_.seconds();
    for (const auto& [gauge, name] : enum_table<Gauge>()) sample[gauge] = source_.read(gauge);
    const double elapsed_s = sample.at_s - last_s_;
    last_s_ = sample.at_s;
    const auto reasons = source_.slow_reasons();
    if (!reasons) return;
    answered_ = true;
    if (reasons->thermal) thermal_s_ += elapsed_s;
    if (reasons->power_cap) power_cap_s_ += elapsed_s;
    if (reasons->hardware) hardware_s_ += elapsed_s;
}

void GaugeSampler::thin_out() {
    for (size_t i = 0; 2 * i < samples_.size(); ++i) samples_[i] = samples_[2 * i];
    samples_.resize((samples_.size() + 1) / 2);
    period_ *= 2;
}

}  // namespace pb::device
