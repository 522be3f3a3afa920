// What a point will need, by arithmetic from the network's graph, confirmed by the counting allocator.
#pragma once

#include "plan/plan.hpp"

#include <cstdint>
#include <optional>

namespace pb {

struct Prediction {
    int64_t pixels_per_forward = 0;  // batch * window pixels, or the largest whole-image call
    double peak_mib = 0;             // engine allocator of one rank, see `PeakParts`
    double flop = 0;                 // of one repetition, all ranks, processed pixels
    double flop_busiest_rank = 0;
};

/// The parts of a rank's peak in the engine's allocator, in bytes. 16-bit types halve all of them but the samples.
struct PeakParts {
    double weights = 0;
    double in_out_per_pixel = 0;  // input and output of a batch; on CUDA its samples, to convert from and to, as well
    std::vector<MemorySize> forward;  // maps and kernels at the peaks of a forward call, from large windows to small

    /// For a forward call of `pixels` (batch times window pixels) with `slots` batches in flight: weights + input and
    /// output of each slot + the largest of `forward`. Within 10 % of what the counting allocator measures on the CPU.
    /// The one place that holds this formula.
    [[nodiscard]] double peak(int64_t pixels, int64_t slots) const;
};
[[nodiscard]] PeakParts peak_parts(const Point& point);

/// Batches that a rank of the point has in flight.
[[nodiscard]] int64_t batches_in_flight(const Point& point);

/// Pixels through the network in one repetition, on all ranks. Halo and batch must be known.
[[nodiscard]] double processed_pixels(const Point& point);

/// Processed pixels of one image by its own pixels. Before the batch is known: without the windows that `last_batch:
/// pad` repeats. The halo must be known.
[[nodiscard]] double processed_per_useful(const Point& point);

/// Nothing while halo or batch is open, and for refused points. Windows that `last_batch: pad` repeats count as
/// processed.
[[nodiscard]] std::optional<Prediction> predict(const Point& point);

}  // namespace pb
