#include "device/best_rates.hpp"

#include "base/statistics.hpp"
#include "base/stopwatch.hpp"
#include "base/thread_pool.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace pb::device {
namespace {

/// CUDA's events resolve half a microsecond: a group this long is timed to a thousandth.
constexpr double kShortestGroupS = 1e-3;
constexpr double kMostCalls = 1000;
constexpr size_t kFewestGroups = 3;

constexpr size_t kMebibyte = size_t{1} << 20;
constexpr size_t kHostBytes = 64 * kMebibyte;           // of a rank, there and back: beyond a core's share of any cache
constexpr size_t kFewestBytesOfThread = 8 * kMebibyte;  // and of each of many threads
constexpr size_t kDeviceBytes = 256 * kMebibyte;        // five times the last cache of an H100
constexpr size_t kTransferBytes = 32 * kMebibyte;       // a large batch; larger ones are no faster

double gb_per_s(size_t bytes, double seconds) { return static_cast<double>(bytes) / seconds * 1e-9; }

class CopyWork {
  public:
    explicit CopyWork(size_t bytes) : from_({}, bytes), to_({}, bytes) {}
    /// By the thread that will copy: the kernel then places the memory near it.
    void touch() {
        std::memset(from_.pointer(), 1, from_.bytes());
        std::memset(to_.pointer(), 2, to_.bytes());
    }
    void copy() { std::memcpy(to_.pointer(), from_.pointer(), from_.bytes()); }

  private:
    DeviceBuffer from_, to_;
};

/// Every byte counts once.
template <class To, class From, class Copy>
double copy_gb_per_s(DeviceId device, size_t bytes, double budget_s, const Copy& copy) {
    const From from(device, bytes);
    const To to(device, bytes);
    Stream stream(device);
    const auto work = [&] { copy(to.pointer(), from.pointer(), bytes, stream); };
    return gb_per_s(bytes, seconds_of_call(stream, budget_s, work));
}

}  // namespace

double seconds_of_call(Stream& stream, double budget_s, const std::function<void()>& work) {
    Event start(stream.device()), end(stream.device());
    const auto seconds_of_group = [&](int calls) {
        start.record(stream);
        for (int call = 0; call < calls; ++call) work();
        end.record(stream);
        end.synchronise();
        return end.seconds_since(start) / calls;
    };
    (void)seconds_of_group(1);
    const double once_s = std::max(1e-9, seconds_of_group(1));
    const int calls = static_cast<int>(std::clamp(std::ceil(kShortestGroupS / once_s), 1.0, kMostCalls));
    const Stopwatch watch;
    std::vector<double> seconds;
    while (seconds.size() < kFewestGroups || watch.seconds() < budget_s) seconds.push_back(seconds_of_group(calls));
    return median(seconds);
}

double host_copy_gb_per_s(int threads, double budget_s) {
    ThreadPool team(std::max(threads, 1));
    const auto team_size = static_cast<size_t>(team.size());
    const size_t bytes_of_thread = std::max(kFewestBytesOfThread, kHostBytes / team_size);
    std::vector<CopyWork> works;
    for (size_t i = 0; i < team_size; ++i) works.emplace_back(bytes_of_thread);
    const auto by_each = [&](void (CopyWork::*act)()) {
        team.run(team.size(), [&](Range, int thread) { (works[static_cast<size_t>(thread)].*act)(); });
    };
    by_each(&CopyWork::touch);
    Stream stream(DeviceId{});
    const double seconds = seconds_of_call(stream, budget_s, [&] { by_each(&CopyWork::copy); });
    return gb_per_s(2 * team_size * bytes_of_thread, seconds);
}

double device_copy_gb_per_s(DeviceId device, double budget_s) {
    return 2 * copy_gb_per_s<DeviceBuffer, DeviceBuffer>(device, kDeviceBytes, budget_s, copy_on_device);
}

double h2d_gb_per_s(DeviceId device, double budget_s) {
    return copy_gb_per_s<DeviceBuffer, PinnedBuffer>(device, kTransferBytes, budget_s, copy_to_device);
}

double d2h_gb_per_s(DeviceId device, double budget_s) {
    return copy_gb_per_s<PinnedBuffer, DeviceBuffer>(device, kTransferBytes, budget_s, copy_to_host);
}

}  // namespace pb::device
