#include "run/verify/noise_check.hpp"

#include <fmt/format.h>

#include <cmath>

namespace pb::run {

namespace {

struct Moments {
    double count = 0, sum = 0, sum_of_squares = 0;
    void add(double value) {
        ++count;
        sum += value;
        sum_of_squares += value * value;
    }
    [[nodiscard]] double mean() const { return sum / count; }
    [[nodiscard]] double deviation() const { return std::sqrt(sum_of_squares / count - mean() * mean()); }
};

void add_differences(const PixelView& noisy, const PixelView& clean, Moments& moments) {
    for (int64_t y = 0; y < clean.extent.h; ++y) {
        const auto* with = reinterpret_cast<const float*>(noisy.row(y));
        const auto* without = reinterpret_cast<const float*>(clean.row(y));
        for (int64_t i = 0; i < clean.extent.w * clean.channels; ++i)
            moments.add(static_cast<double>(with[i]) - static_cast<double>(without[i]));
    }
}

}  // namespace

std::optional<std::string> find_wrong_noise(WindowSource& noisy, ImageSource& clean, const std::vector<Rect>& parts,
                                            double sigma) {
    Moments noise;
    for (const Rect& part : parts) {
        const image::Image expected = clean.read_unit(part);
        add_differences(noisy.read(part).part(part), expected.view(), noise);
        noise.count -= static_cast<double>(clean.count_gaps(part));  // gaps have no noise: they add nothing to the sums
    }
    if (noise.count < 2) return std::nullopt;
    constexpr double kErrors = 5;
    constexpr double kRounding = 1e-6;  // rounding error of f32 samples up to about 1
    const double mean_limit = kErrors * sigma / std::sqrt(noise.count) + kRounding;
    const double deviation_limit = kErrors * sigma / std::sqrt(2 * noise.count) + kRounding;
    if (std::abs(noise.mean()) <= mean_limit && std::abs(noise.deviation() - sigma) <= deviation_limit)
        return std::nullopt;
    return fmt::format("the noise in the input has mean {:f} and standard deviation {:f}, not 0 and {:f}", noise.mean(),
                       noise.deviation(), sigma);
}

}  // namespace pb::run
