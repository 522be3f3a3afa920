// Memory and arithmetic that a point will need, computed from the graph of its network; checked against the counting
// allocator.
#pragma once

#include "network/parts/window_crop.hpp"
#include "plan/plan.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace pb::plan {

struct Prediction {
    int64_t pixels_per_forward = 0;  // batch * window pixels, or the largest whole-image call
    double peak_mib = 0;             // in the engine's allocator on one rank, see `PeakParts`; 0: unknown
    double flop = 0;                 // of one repetition on all ranks, see `computed_pixels`
    double flop_busiest_rank = 0;
};

/// Parts of the peak in the engine's allocator on one rank, in bytes. 16-bit types halve all of them but the samples.
struct PeakParts {
    double weights = 0;
    double in_out_per_pixel = 0;  // input and output of a batch; on CUDA also the samples before and after conversion
    std::vector<network::MemorySize>
        forward;  // maps and kernels at the peaks of a forward call, from large windows to small ones
    /// Engine native: what lies in its arena, whose size is exact for any pixels; it exceeds `forward` only where maps
    /// leave gaps. none: other engines.
    std::optional<network::MemoryPlan> arena;
    std::optional<network::WindowCrop> crop;  // of cropped windows, whose maps take less
    int64_t scratch_bytes = 0;                // of all threads beside the arena; counted in `forward`

    /// Peak of a forward call of `pixels` (batch times window pixels) with `slots` batches in flight: weights + input
    /// and output of each slot + the largest of `forward`, or the arena. Within 10 % of what the counting allocator
    /// measures on the CPU; exact for the engine native.
    [[nodiscard]] double peak(int64_t pixels, int64_t slots) const;
};
[[nodiscard]] PeakParts peak_parts(const Point& point);

/// Bytes of one sample as it is copied to a device: the stored type, or f32 where noise or a range changed the value.
[[nodiscard]] int64_t sample_bytes(const Point& point);

/// Number of batches that a rank of the point has in flight.
[[nodiscard]] int64_t batches_in_flight(const Point& point);

/// Forward calls on a resident batch that take as long as one repetition of the rank with most work; with schedule
/// dynamic, of equally fast ranks. Exchanged rows are computed in one call. Requires a settled halo and batch.
[[nodiscard]] int64_t calls_of_busiest_rank(const Point& point);

/// Pixels that the network processes in one repetition, on all ranks. Requires a settled halo and batch.
[[nodiscard]] double processed_pixels(const Point& point);

/// Pixels that all ranks cut from the image in one repetition: of windows, or of rows, with those
/// that several ranks cut.
[[nodiscard]] double input_pixels(const Point& point);

/// Bytes of the output that ranks of other nodes send to that of rank 0 in one repetition; with schedule dynamic, of
/// equally fast ranks. 0 for whole images, and where the output goes into a file.
[[nodiscard]] double bytes_to_root(const Point& point, const Topology& topology);

/// The arithmetic of one repetition on all ranks, by that of a pixel of which each layer computes all: processed
/// pixels, but less where windows are cropped (cropping.hpp).
[[nodiscard]] double computed_pixels(const Point& point);

/// Processed pixels of one image by its own pixels. Before the batch is known: without the windows that `last_batch:
/// pad` repeats. The halo must be known.
[[nodiscard]] double processed_per_useful(const Point& point);
/// The same of computed pixels.
[[nodiscard]] double computed_per_useful(const Point& point);

/// nullopt while halo or batch is open, for refused points, and for networks that the user brings. Windows that
/// `last_batch: pad` repeats count as processed.
[[nodiscard]] std::optional<Prediction> predict(const Point& point);

}  // namespace pb::plan
