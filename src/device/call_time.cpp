#include "device/call_time.hpp"

#include "base/statistics.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace pb::device {
namespace {

/// CUDA's events resolve half a microsecond: a group this long is timed to a thousandth.
constexpr double kShortestGroupS = 1e-3;
constexpr double kMostCalls = 1000;
constexpr size_t kFewestGroups = 3;

class CallTimer {
  public:
    CallTimer(Stream& stream, const std::function<void()>& work)
        : stream_(stream), work_(work), start_(stream.device()), end_(stream.device()) {}

    double seconds_of_group(int calls) {
        start_.record(stream_);
        for (int call = 0; call < calls; ++call) work_();
        end_.record(stream_);
        end_.synchronise();
        return end_.seconds_since(start_) / calls;
    }

  private:
    Stream& stream_;
    const std::function<void()>& work_;
    Event start_, end_;
};

}  // namespace

double seconds_of_call(Stream& stream, double budget_s, const std::function<void()>& work) {
    using Clock = std::chrono::steady_clock;
    CallTimer timer(stream, work);
    (void)timer.seconds_of_group(1);
    const double once_s = std::max(1e-9, timer.seconds_of_group(1));
    const int calls = static_cast<int>(std::clamp(std::ceil(kShortestGroupS / once_s), 1.0, kMostCalls));
    const auto begin = Clock::now();
    const auto elapsed_s = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    std::vector<double> seconds;
    while (seconds.size() < kFewestGroups || elapsed_s() < budget_s) seconds.push_back(timer.seconds_of_group(calls));
    return median(seconds);
}

}  // namespace pb::device
