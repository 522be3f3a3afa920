#include "image/sample_map.hpp"

#include "image/sample_types.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

namespace pb::image {
namespace {

/// Calls `use(row of samples, row of other, number of values)` for each row, with pointers of the samples' type.
template <class Samples, class Other, class Use>
void for_rows(const Samples& samples, const Other& other, Use&& use) {
    require(samples.extent == other.extent && samples.channels == other.channels,
            "images to map differ in extent or channels");
    const int64_t count = samples.extent.w * samples.channels;
    with_sample_type(samples.dtype, [&](auto type) {
        for (int64_t y = 0; y < samples.extent.h; ++y) use(type, samples.row(y), other.row(y), count);
    });
}

template <class Sample>
bool is_gap(Sample sample, const std::optional<double>& nodata) {
    const double value = value_of(sample);
    return !std::isfinite(value) || value == nodata;
}

/// Maps `value` so that `low` is 0 and the other end of the range is 1. A value further away than a million ranges is
/// refused: no instrument delivers it, and a network would spread it over its surroundings.
float to_unit_value(double value, const SampleRange& range) {
    constexpr double kFarthest = 1e6;
    const double unit = (value - range.low) / range.width();
    if (!(std::abs(unit) > kFarthest)) return static_cast<float>(unit);
    std::ostringstream text;
    text << "a sample is " << value << ", more than " << kFarthest << " times the range " << range.low << " to "
         << range.high << " away: if it stands for no data, name it (--nodata, image.nodata); else give a wider range";
    throw UsageError(text.str());
}

/// Returns `value` as a sample of `type` holds it, or nothing where the type cannot hold it. A float type has it
/// rounded, also where the type's largest value is written with few digits and so lies a little beyond. It holds
/// infinities, too.
std::optional<double> as_held(DType type, std::optional<double> value) {
    if (!value || (is_float(type) && std::isinf(*value))) return value;
    std::optional<double> held;
    double largest = 0;
    with_sample_type(type, [&](auto zero) {
        held = value_of(sample_of<decltype(zero)>(*value));
        largest = value_of(sample_of<decltype(zero)>(std::copysign(std::numeric_limits<double>::max(), *value)));
    });
    constexpr double kFewDigits = 1e-3;
    const bool is_beyond = held == largest && std::abs(*value) > (1 + kFewDigits) * std::abs(largest);
    return is_beyond || (!is_float(type) && held != value) ? std::nullopt : held;
}

/// The samples of one channel around a pixel. Coordinates are those of `around`.
class Neighbours {
  public:
    Neighbours(const PixelView& around, int64_t y, int64_t x, int64_t channel)
        : around_(around), y_(y), x_(x), channel_(channel) {}

    /// Returns the mean of the valid samples on the smallest square ring that has any, or 0.5 when none lies within
    /// kGapReach pixels.
    [[nodiscard]] float nearest_mean() const {
        for (int64_t radius = 1; radius <= kGapReach; ++radius) {
            Sum sum;
            for (int64_t step = -radius; step <= radius; ++step) {
                add(-radius, step, sum);
                add(radius, step, sum);
                if (std::abs(step) == radius) continue;  // the loop's first two calls added the corners
                add(step, -radius, sum);
                add(step, radius, sum);
            }
            if (sum.count > 0) return static_cast<float>(sum.total / static_cast<double>(sum.count));
        }
        constexpr float kMiddle = 0.5F;
        return kMiddle;
    }

  private:
    struct Sum {
        double total = 0;
        int64_t count = 0;
    };

    void add(int64_t down, int64_t right, Sum& sum) const {
        const int64_t y = y_ + down, x = x_ + right;
        if (y < 0 || x < 0 || y >= around_.extent.h || x >= around_.extent.w) return;
        const float value = reinterpret_cast<const float*>(around_.row(y))[x * around_.channels + channel_];
        if (std::isnan(value)) return;
        sum.total += value;
        ++sum.count;
    }

    const PixelView& around_;
    int64_t y_, x_, channel_;
};

}  // namespace

std::optional<SampleRange> range_of_type(DType type) {
    if (type == DType::i16 || type == DType::u32) return std::nullopt;
    return SampleRange{0, full_scale(type)};
}

SampleRange range_of_values(std::span<double> values) {
    if (values.empty()) throw UsageError("there are no samples but those that are no data");
    std::ranges::sort(values);
    constexpr double kLeftOut = 0.001;
    const auto last = static_cast<double>(values.size() - 1);
    const double low = values[static_cast<size_t>(std::floor(kLeftOut * last))];
    const double high = values[static_cast<size_t>(std::ceil((1 - kLeftOut) * last))];
    if (!(low < high)) throw UsageError(fmt::format("nearly all samples are {:f}", low));
    if (!std::isfinite(high - low)) throw UsageError("they lie further apart than a number can say");
    return {low, high};
}

SampleMap::SampleMap(DType type, SampleRange range, bool has_gaps, std::optional<double> nodata)
    : type_(type), range_(range), has_gaps_(has_gaps), nodata_(as_held(type, nodata)) {
    require(std::isfinite(range.width()) && range.low < range.high, "a range of samples is empty or endless");
}

void SampleMap::to_unit(const PixelView& samples, MutablePixelView unit) const {
    require(samples.dtype == type_ && unit.dtype == DType::f32, "samples of another type than the map's");
    for_rows(samples, unit, [&](auto type, const std::byte* from, std::byte* to, int64_t count) {
        const auto* in = reinterpret_cast<const decltype(type)*>(from);
        auto* out = reinterpret_cast<float*>(to);
        for (int64_t i = 0; i < count; ++i)
            out[i] = has_gaps_ && is_gap(in[i], nodata_) ? std::numeric_limits<float>::quiet_NaN()
                                                         : to_unit_value(value_of(in[i]), range_);
    });
}

void SampleMap::from_unit(const PixelView& unit, MutablePixelView samples) const {
    require(samples.dtype == type_ && unit.dtype == DType::f32, "samples of another type than the map's");
    for_rows(samples, unit, [&](auto type, std::byte* to, const std::byte* from, int64_t count) {
        using Sample = decltype(type);
        const auto* in = reinterpret_cast<const float*>(from);
        auto* out = reinterpret_cast<Sample*>(to);
        for (int64_t i = 0; i < count; ++i) {
            const double value = range_.low + static_cast<double>(in[i]) * range_.width();
            out[i] = sample_of<Sample>(value);
            if (nodata_ && value_of(out[i]) == *nodata_) out[i] = next_sample<Sample>(*nodata_, value > *nodata_);
        }
    });
}

void SampleMap::append_data(const PixelView& samples, std::vector<double>& values) const {
    require(samples.dtype == type_, "samples of another type than the map's");
    for_rows(samples, samples, [&](auto type, const std::byte* from, const std::byte* /*same*/, int64_t count) {
        const auto* in = reinterpret_cast<const decltype(type)*>(from);
        for (int64_t i = 0; i < count; ++i)
            if (!has_gaps_ || !is_gap(in[i], nodata_)) values.push_back(value_of(in[i]));
    });
}

void SampleMap::copy_gaps(const PixelView& original, MutablePixelView samples) const {
    if (!has_gaps_) return;
    require(original.dtype == type_ && samples.dtype == type_, "samples of another type than the map's");
    for_rows(samples, original, [&](auto type, std::byte* to, const std::byte* from, int64_t count) {
        using Sample = decltype(type);
        const auto* in = reinterpret_cast<const Sample*>(from);
        for (int64_t i = 0; i < count; ++i)
            if (is_gap(in[i], nodata_)) std::memcpy(to + i * sizeof(Sample), &in[i], sizeof(Sample));
    });
}

double SampleMap::half_step(double sample) const {
    if (!is_float(type_)) return 0.5;
    // f64 has the precision of f32, which lies between.
    const double precision = type_ == DType::f16 ? std::ldexp(1.0, -11) : std::ldexp(1.0, -24);
    return precision * std::max({std::abs(range_.low), std::abs(range_.high), std::abs(sample)});
}

double SampleMap::rounding() const { return half_step(range_.low) / range_.width(); }

double SampleMap::added_rounding(double value) const {
    const double sample = range_.low + value * range_.width(), half = half_step(sample);
    const bool is_replaced = nodata_ && std::abs(sample - *nodata_) <= half;
    return (is_replaced ? 2 * half : half) / range_.width() - rounding();
}

SampleRange SampleMap::limits() const {
    SampleRange limits;
    with_sample_type(type_, [&](auto type) {
        using Sample = decltype(type);
        limits = {(lowest_of<Sample>() - range_.low) / range_.width(),
                  (highest_of<Sample>() - range_.low) / range_.width()};
    });
    return limits;
}

Image fill_gaps(const PixelView& around, const Rect& place, const Rect& part) {
    Image filled(part.extent, around.channels, DType::f32);
    const int64_t down = part.row - place.row, right = part.column - place.column;
    for (int64_t y = 0; y < part.extent.h; ++y) {
        const auto* from = reinterpret_cast<const float*>(around.row(down + y)) + right * around.channels;
        auto* to = reinterpret_cast<float*>(filled.view().row(y));
        for (int64_t i = 0; i < part.extent.w * around.channels; ++i) {
            const int64_t x = right + i / around.channels;
            to[i] = std::isnan(from[i]) ? Neighbours(around, down + y, x, i % around.channels).nearest_mean() : from[i];
        }
    }
    return filled;
}

int64_t count_gaps(const PixelView& image) {
    int64_t count = 0;
    for (int64_t y = 0; y < image.extent.h; ++y)
        count += std::ranges::count_if(floats_in(image, y), [](float value) { return std::isnan(value); });
    return count;
}

}  // namespace pb::image
