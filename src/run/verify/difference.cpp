#include "run/verify/difference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pb::run {

double Difference::excess(const Tolerance& tolerance) const {
    if (std::isnan(largest)) return std::numeric_limits<double>::infinity();
    return std::max(largest / tolerance.largest, rms / tolerance.rms);
}

void clip(image::Image& expected, const std::optional<image::SampleRange>& limits) {
    if (!limits) return;
    const auto low = static_cast<float>(limits->low), high = static_cast<float>(limits->high);
    const int64_t count = expected.extent().pixels() * expected.channels();
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    std::transform(expected.as<float>(), expected.as<float>() + count, expected.as<float>(),
                   [=](float sample) { return std::isfinite(sample) ? std::clamp(sample, low, high) : kNan; });
}

namespace {

double scale_of(const image::Image& expected) {
    double largest = 1;
    const int64_t count = expected.extent().pixels() * expected.channels();
    for (int64_t i = 0; i < count; ++i) {
        const double size = std::abs(static_cast<double>(expected.as<float>()[i]));
        if (std::isfinite(size)) largest = std::max(largest, size);
    }
    return largest;
}

}  // namespace

ErrorScale::ErrorScale(const image::Image& expected, const Quantisation& stored, double tolerance)
    : divisor_(scale_of(expected)), rounding_(stored.rounding) {
    if (stored.limits) divisor_ = std::min(divisor_, std::max(1.0, rounding_ / (tolerance - rounding_)));
}

double ErrorScale::of(double difference) const {
    return difference <= rounding_ ? difference : rounding_ + (difference - rounding_) / divisor_;
}

Difference find_difference(CoreSink& output, const Rect& part, image::Image expected, const Tolerance& tolerance) {
    const Quantisation stored = output.quantisation();
    const ErrorScale scale(expected, stored, tolerance.largest);
    clip(expected, stored.limits);
    const image::Image written = output.read(part);
    const int64_t channels = expected.channels();
    const int64_t count = part.extent.pixels() * channels;
    Difference worst;
    double sum_of_squares = 0;
    for (int64_t i = 0; i < count; ++i) {
        const double difference = scale.of(
            std::abs(static_cast<double>(written.as<float>()[i]) - static_cast<double>(expected.as<float>()[i])));
        sum_of_squares += difference * difference;
        if (difference <= worst.largest) continue;
        const bool is_finite = std::isfinite(difference);
        const int64_t pixel = i / channels;
        worst = {is_finite ? difference : std::numeric_limits<double>::quiet_NaN(), 0, part.row + pixel / part.extent.w,
                 part.column + pixel % part.extent.w, i % channels};
        if (!is_finite) return worst;
    }
    worst.rms = std::sqrt(sum_of_squares / static_cast<double>(count));
    return worst;
}

}  // namespace pb::run
