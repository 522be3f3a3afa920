// What a point will need, by arithmetic from the network's facts. Sources: facts of the architectures (activation bytes
// per pixel, MAC per pixel), confirmed by the counting allocator.
#pragma once

#include "patchbench/plan/plan.hpp"

#include <cstdint>
#include <optional>

namespace pb {

struct Prediction {
    int64_t pixels_per_forward = 0;  // batch * window pixels, or the largest whole-image call
    double peak_mib = 0;             // engine allocator of one rank, see `predicted_peak_bytes`
    double flop = 0;                 // of one repetition, all ranks, processed pixels
    double flop_busiest_rank = 0;
};

/// Bytes in the engine's allocator for a forward call of `pixels` (batch times window pixels) with `slots` batches in
/// flight: weights + input and output of each slot + the larger of the network's two memory moments
/// (network_facts.hpp). 16-bit types halve all of them. Within 5 % of what the counting allocator measures on the CPU.
/// The one place that holds this formula.
[[nodiscard]] double predicted_peak_bytes(NetworkKind kind, Precision dtype, int64_t channels, int64_t pixels,
                                          int64_t slots);

/// Nothing while halo or batch is open, and for refused points. Windows that `last_batch: pad` repeats count as
/// processed.
[[nodiscard]] std::optional<Prediction> predict(const Point& point);

}  // namespace pb
