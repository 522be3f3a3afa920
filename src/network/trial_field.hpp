// Test images of find_card.hpp: the value of a pixel follows from its place, so that shifted windows have equal pixels.
#pragma once

#include "patchbench/base/shape.hpp"
#include "patchbench/network/network_card.hpp"

#include <functional>
#include <vector>

namespace pb::network {

/// Pixels of a window, counted from its first one, that hold other values than the field.
using Changed = std::function<bool(int64_t row, int64_t column)>;

struct TrialWindow {
    Extent extent;
    int64_t row = 0, column = 0;  // of its first pixel in the field
    double sigma = 0.1;           // in [0,1] units
    Changed changed = {};
};

/// Values in [0,1] times the card's range, as NCHW; where the card has a noise level, it is the last channel.
[[nodiscard]] std::vector<float> noise_window(const NetworkCard& card, const TrialWindow& window);

/// A smooth scene, with noise of standard deviation `window.sigma` where it is wanted.
[[nodiscard]] std::vector<float> scene_window(const NetworkCard& card, const TrialWindow& window, bool with_noise);

[[nodiscard]] Shape shape_of(const NetworkCard& card, Extent extent);

}  // namespace pb::network
