#include "run/verify/anomaly_tracker.hpp"

#include <algorithm>
#include <cmath>

namespace pb::run {

namespace {

template <class Sample, class Odd>
int64_t count_if_odd(const PixelView& samples, Odd&& odd) {
    int64_t count = 0;
    for (int64_t y = 0; y < samples.extent.h; ++y) {
        const auto* row = reinterpret_cast<const Sample*>(samples.row(y));
        count += std::count_if(row, row + samples.extent.w * samples.channels, odd);
    }
    return count;
}

}  // namespace

int64_t count_odd(const PixelView& samples) {
    const auto is_zero = [](auto sample) { return sample == 0; };
    if (samples.dtype == DType::u8) return count_if_odd<uint8_t>(samples, is_zero);
    if (samples.dtype == DType::u16) return count_if_odd<uint16_t>(samples, is_zero);
    return count_if_odd<float>(samples, [](float sample) { return !std::isfinite(sample); });
}

bool AnomalyTracker::add(const Rect& part, int64_t odd, int64_t count, bool floats) {
    constexpr int64_t kShare = 16;  // a smaller share of zeros can occur in a normal image
    const bool is_it = odd > most_ && (floats || odd * kShare >= count);
    if (is_it) part_ = part;
    most_ = std::max(most_, odd);
    return is_it;
}

}  // namespace pb::run
