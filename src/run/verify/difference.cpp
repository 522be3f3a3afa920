#include "run/verify/difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace pb::run {

namespace {

constexpr double kShareOfChange = 0.5;  // Note [Little to change]

double scale_of(const image::Image& expected) {
    double largest = 1;
    for (int64_t i = 0; i < expected.num_samples(); ++i) {
        const double size = std::abs(static_cast<double>(expected.as<float>()[i]));
        if (std::isfinite(size)) largest = std::max(largest, size);
    }
    return largest;
}

double difference_at(int64_t index, const image::Image& a, const image::Image& b, const ErrorScale& scale) {
    const double difference = static_cast<double>(a.as<float>()[index]) - static_cast<double>(b.as<float>()[index]);
    return std::copysign(scale.of(std::abs(difference)), difference);
}

/// The first that is not finite, if there is one.
Difference find_largest(const image::Image& written, const Expected& expected, const ErrorScale& scale) {
    const int64_t channels = written.channels(), width = written.extent().w;
    Difference worst;
    for (int64_t i = 0; i < written.num_samples(); ++i) {
        const double difference = std::abs(difference_at(i, written, expected.denoised, scale));
        if (difference <= worst.largest) continue;
        const int64_t pixel = i / channels;
        worst.row = expected.part.row + pixel / width;
        worst.column = expected.part.column + pixel % width;
        worst.channel = i % channels;
        worst.largest = std::isfinite(difference) ? difference : std::numeric_limits<double>::quiet_NaN();
        if (std::isnan(worst.largest)) return worst;
    }
    return worst;
}

/// The mean of products of samples of two differences, a - b and c - d.
double mean_product(const image::Image& a, const image::Image& b, const image::Image& c, const image::Image& d,
                    const ErrorScale& scale) {
    double sum = 0;
    for (int64_t i = 0; i < a.num_samples(); ++i) sum += difference_at(i, a, b, scale) * difference_at(i, c, d, scale);
    return sum / static_cast<double>(a.num_samples());
}

/// What is missing is the part of the difference that lies along the change.
Change find_change(const image::Image& written, const image::Image& noisy, const image::Image& denoised,
                   const ErrorScale& scale) {
    const double squares = mean_product(denoised, noisy, denoised, noisy, scale);
    if (squares <= 0) return {};
    const double share = mean_product(denoised, written, denoised, noisy, scale) / squares;
    return {std::sqrt(squares), std::min(share, 1.0) * std::sqrt(squares)};
}

}  // namespace

double Tolerance::rms_where(double change) const { return std::min(rms, std::max(least_rms, kShareOfChange * change)); }

double Tolerance::missing_where(double change) const { return std::max(least_missing, kShareOfChange * change); }

double Difference::excess(const Tolerance& tolerance) const {
    if (std::isnan(largest)) return std::numeric_limits<double>::infinity();
    const double plain = std::max(largest / tolerance.largest, rms / tolerance.rms);
    if (!change) return plain;
    return std::max(
        {plain, rms / tolerance.rms_where(change->rms), change->missing / tolerance.missing_where(change->rms)});
}

std::string to_text(const Difference& difference, const Tolerance& tolerance) {
    const std::optional<Change>& change = difference.change;
    std::string text =
        fmt::format("by {:.4g}, rms {:.4g} (tolerance {:.4g}, rms {:.4g})", difference.largest, difference.rms,
                    tolerance.largest, change ? tolerance.rms_where(change->rms) : tolerance.rms);
    if (!change) return text;
    return text + fmt::format(" where the network changes rms {:.4g}, of which {:.4g} is missing (tolerance {:.4g})",
                              change->rms, std::max(0.0, change->missing), tolerance.missing_where(change->rms));
}

void clip(image::Image& expected, const std::optional<image::SampleRange>& limits) {
    if (!limits) return;
    const auto low = static_cast<float>(limits->low), high = static_cast<float>(limits->high);
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    std::transform(expected.as<float>(), expected.as<float>() + expected.num_samples(), expected.as<float>(),
                   [=](float sample) { return std::isfinite(sample) ? std::clamp(sample, low, high) : kNan; });
}

void allow_added_rounding(image::Image& written, const image::Image& expected, const Quantisation& stored) {
    if (stored.map == nullptr) return;
    for (int64_t i = 0; i < written.num_samples(); ++i) {
        const double right = expected.as<float>()[i], difference = written.as<float>()[i] - right;
        const double added = stored.map->added_rounding(right);
        if (!(added > 0 && std::abs(difference) > stored.rounding)) continue;
        const double left = std::max(stored.rounding, std::abs(difference) - added);
        written.as<float>()[i] = static_cast<float>(right + std::copysign(left, difference));
    }
}

ErrorScale::ErrorScale(const image::Image& expected, const Quantisation& stored, double tolerance)
    : divisor_(scale_of(expected)), rounding_(stored.rounding) {
    if (stored.limits && !stored.floats)
        divisor_ = std::min(divisor_, std::max(2.0, rounding_ / (tolerance - rounding_)));
}

double ErrorScale::of(double difference) const {
    return difference <= rounding_ ? difference : rounding_ + (difference - rounding_) / divisor_;
}

Difference find_difference(CoreSink& output, Expected expected, const Tolerance& tolerance) {
    constexpr int64_t kFewSamples = 512;  // Note [Little to change]
    const Quantisation stored = output.quantisation();
    image::Image& denoised = expected.denoised;
    const ErrorScale scale(denoised, stored, tolerance.largest);
    clip(denoised, stored.limits);
    image::Image written = output.read(expected.part);
    allow_added_rounding(written, denoised, stored);
    Difference found = find_largest(written, expected, scale);
    if (std::isnan(found.largest)) return found;
    const bool goes_by_change = tolerance.least_rms < tolerance.rms;  // else `rms` is small enough everywhere
    found.rms = std::sqrt(mean_product(denoised, written, denoised, written, scale));
    if (goes_by_change && written.num_samples() >= kFewSamples)
        found.change = find_change(written, output.as_stored(expected.part, expected.read_noisy()), denoised, scale);
    return found;
}

}  // namespace pb::run
