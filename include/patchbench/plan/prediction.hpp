// What a point will need, by arithmetic from the network's facts. Sources: facts of the architectures (activation bytes
// per pixel, MAC per pixel), confirmed by the counting allocator.
#pragma once

#include "patchbench/plan/plan.hpp"

#include <cstdint>
#include <optional>

namespace pb {

struct Prediction {
    int64_t pixels_per_forward = 0;  // batch * window pixels, or the largest whole-image call
    double peak_mib = 0;             // engine allocator: weights + activations + input and output (+ slots)
    double flop = 0;                 // of one repetition, all ranks, processed pixels
    double flop_busiest_rank = 0;
};

/// Requires settled halo and batch; nothing otherwise.
[[nodiscard]] std::optional<Prediction> predict(const Point& point);

}  // namespace pb
