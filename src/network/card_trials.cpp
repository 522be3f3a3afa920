#include "network/card_trials.hpp"

#include "network/trial_field.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace pb::network {

bool CardTrials::accepts(Extent extent) {
    ++num_trials_;
    last_refusal_ = try_window_(card, noise_window(card, {.extent = extent}), shape_of(card, extent)).refusal;
    return last_refusal_.empty();
}

std::vector<float> CardTrials::run(const std::vector<float>& window, Extent extent) {
    ++num_trials_;
    TrialOutput output = try_window_(card, window, shape_of(card, extent));
    if (!output.refusal.empty())
        throw UsageError(
            fmt::format("gives no image for a window of {} x {} px: {}", extent.h, extent.w, output.refusal));
    return std::move(output.values);
}

double CardTrials::difference(const std::vector<float>& a, const std::vector<float>& b) const {
    double scale = card.range, largest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        scale = std::max(scale, std::abs(double{a[i]}));
        const double change = std::abs(double{a[i]} - double{b[i]});
        if (std::isnan(change)) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, change);
    }
    return largest / scale;
}

}  // namespace pb::network
