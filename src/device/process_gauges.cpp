#include "device/gauge_source.hpp"
#include "device/host_memory.hpp"

namespace pb {
namespace {
using Clock = std::chrono::steady_clock;
/// Shorter intervals say more about the scheduler's turns than about the load.
constexpr double kShortestIntervalS = 0.001;
}  // namespace

ProcessGauges::ProcessGauges(int num_cores)
    : num_cores_(num_cores), last_(Clock::now()), last_cpu_s_(process_cpu_seconds()) {}

std::optional<double> ProcessGauges::read(Gauge gauge) {
    if (gauge != Gauge::utilisation_percent) return std::nullopt;
    const auto now = Clock::now();
    const double elapsed_s = std::chrono::duration<double>(now - last_).count();
    if (elapsed_s < kShortestIntervalS) return std::nullopt;
    const double cpu_s = process_cpu_seconds();
    const double percent = 100 * (cpu_s - last_cpu_s_) / (elapsed_s * num_cores_);
    last_ = now;
    last_cpu_s_ = cpu_s;
    return percent;
}

}  // namespace pb
