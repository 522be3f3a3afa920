#include "network/card/card_trials.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace pb::network {

namespace {

Shape shape_of(const NetworkCard& card, Extent extent) { return {1, card.channels_in(), extent.h, extent.w}; }

/// Uniform in [0,1), the same for the same place.
double uniform_at(int64_t channel, int64_t row, int64_t column, uint64_t seed) {
    uint64_t hash = seed;
    for (const int64_t part : {channel, row, column}) {  // splitmix64
        hash += static_cast<uint64_t>(part) + 0x9e3779b97f4a7c15;
        hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
        hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
        hash ^= hash >> 31;
    }
    return static_cast<double>(hash >> 11) * 0x1p-53;
}

template <class ValueAt>
std::vector<float> fill_window(const NetworkCard& card, const TrialWindow& window, ValueAt value_at) {
    std::vector<float> values;
    const auto num_values = static_cast<size_t>(shape_of(card, window.extent).elements());
    values.reserve(num_values);
    for (int64_t c = 0; c < card.channels; ++c)
        for (int64_t y = 0; y < window.extent.h; ++y)
            for (int64_t x = 0; x < window.extent.w; ++x)
                values.push_back(static_cast<float>(card.range * value_at(c, y, x)));
    values.resize(num_values, static_cast<float>(card.range * window.sigma));
    return values;
}

/// Across the longer side: black, white, and grey levels in steps of a sixteenth.
double flat_value(Extent extent, int64_t y, int64_t x) {
    constexpr int kSteps = 16;
    const bool is_wide = extent.w > extent.h;
    const double across = static_cast<double>(is_wide ? y : x) / static_cast<double>(is_wide ? extent.h : extent.w);
    if (across < 0.5) return across < 0.25 ? 0 : 1;
    return std::floor((2 * across - 1) * (kSteps + 1)) / kSteps;
}

}  // namespace

std::vector<float> noise_window(const NetworkCard& card, const TrialWindow& window) {
    constexpr uint64_t kField = 1, kOther = 2;
    return fill_window(card, window, [&](int64_t c, int64_t y, int64_t x) {
        const bool is_changed = window.changed && window.changed(y, x);
        if (window.is_flat && !is_changed) return flat_value(window.extent, y, x);
        const double value = uniform_at(c, y + window.row, x + window.column, is_changed ? kOther : kField);
        // The changed ones have another mean, and smaller and larger values: a minimum and a maximum see both.
        return is_changed ? (value < 1.0 / 3 ? 0 : 0.5 + 0.5 * value) : 0.6 * value;
    });
}

std::vector<float> scene_window(const NetworkCard& card, const TrialWindow& window, bool with_noise) {
    constexpr uint64_t kNoise = 3;
    const double width = with_noise ? window.sigma * std::sqrt(12.0) : 0;  // of a uniform distribution
    return fill_window(card, window, [&](int64_t c, int64_t y, int64_t x) {
        const double scene =
            0.5 + 0.3 * std::sin(static_cast<double>(x + 5 * c) / 9) * std::cos(static_cast<double>(y) / 7);
        return scene + width * (uniform_at(c, y, x, kNoise) - 0.5);
    });
}

bool CardTrials::accepts(Extent extent) {
    ++found.num_trials;
    last_refusal_ =
        try_window_(found.card, noise_window(found.card, {.extent = extent}), shape_of(found.card, extent)).refusal;
    return last_refusal_.empty();
}

std::vector<float> CardTrials::run(const std::vector<float>& window, Extent extent) {
    ++found.num_trials;
    TrialOutput output = try_window_(found.card, window, shape_of(found.card, extent));
    if (!output.refusal.empty())
        throw UsageError(
            fmt::format("gives no image for a window of {} x {} px: {}", extent.h, extent.w, output.refusal));
    return std::move(output.values);
}

std::vector<float> CardTrials::part(const std::vector<float>& output, Extent extent, const Rect& rect) const {
    std::vector<float> values;
    values.reserve(static_cast<size_t>(found.card.channels * rect.extent.pixels()));
    for (int64_t c = 0; c < found.card.channels; ++c)
        for (int64_t y = rect.row; y < rect.row + rect.extent.h; ++y) {
            const auto first = output.begin() + (c * extent.h + y) * extent.w + rect.column;
            values.insert(values.end(), first, first + rect.extent.w);
        }
    return values;
}

double CardTrials::difference_of_shifted(Extent extent, const Rect& rect, int64_t shift, int64_t longer) {
    const std::vector<float> unmoved = part_for({.extent = extent}, rect);
    const TrialWindow lower{.extent = {extent.h + longer, extent.w}, .row = shift};
    const TrialWindow farther_right{.extent = {extent.h, extent.w + longer}, .column = shift};
    return std::max(difference_in(lower, rect, unmoved), difference_in(farther_right, rect, unmoved));
}

double CardTrials::difference(const std::vector<float>& a, const std::vector<float>& b) const {
    double scale = found.card.range, largest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        scale = std::max(scale, std::abs(double{a[i]}));
        const double change = std::abs(double{a[i]} - double{b[i]});
        if (std::isnan(change)) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, change);
    }
    return largest / scale;
}

}  // namespace pb::network
