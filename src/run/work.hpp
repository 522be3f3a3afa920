// The work of a rank in one pass over an image: a run of tiles, whose windows have one shape.
#pragma once

#include "device/convert.hpp"
#include "network/parts/band_schedule.hpp"
#include "network/parts/exchanged_slab.hpp"
#include "network/parts/window_crop.hpp"
#include "plan/plan.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace pb::run {

struct Work {
    std::function<plan::Tile(int64_t)> tile;  // by window index
    Extent window;
    Range windows;                             // windows of this rank; dynamic: all windows, of which it takes batches
    Range window_rows;                         // image rows that the windows need
    std::function<int64_t(Range)> patches_in;  // number of patches in a range of windows
    int64_t batch = 1;
    config::LastBatch last_batch = config::LastBatch::pad;
    // By window index, for images that differ in their noise level. Empty: all windows have that of the pipeline.
    std::function<device::Conversion(int64_t)> conversion = {};

    // Of a rank with `halo: carried`, whose windows are bands, each of all strips. Null: windows are independent.
    std::shared_ptr<const network::BandSchedule> bands = {};
    int64_t strips = 1;
    // The slab of a rank with `halo: exchanged`, whose windows are bands of it. Null: it owns none.
    std::shared_ptr<const network::ExchangedSlab> slab = {};
    int64_t image_rows = 0;  // of the whole image, with `bands`
    // What is computed of each window, by its core. Null: all of it.
    std::shared_ptr<const network::WindowCrop> crop = {};
    // The batch whose cores are those of forward calls. None: a full one, where there is one, in the middle of the
    // rank's own.
    std::optional<Range> resident = {};

    [[nodiscard]] std::vector<Range> batches() const { return plan::cut_batches(windows, batch); }
    /// The number of windows in a batch as it runs: the full count when the last batch is padded, else its own.
    [[nodiscard]] int64_t run_size(const Range& run) const;
    /// The window for a place in a batch. A padded place repeats the last window of the batch.
    [[nodiscard]] int64_t window_at(const Range& run, int64_t place) const {
        return std::min(run.begin + place, run.end - 1);
    }
    /// The tile of a band: its window begins with its core, also that of the last one, which is not shifted inwards.
    [[nodiscard]] plan::Tile band(int64_t window_index) const;
    /// The core of the window for a place in a batch, in pixels of the window.
    [[nodiscard]] Rect core_at(const Range& run, int64_t place) const;
    [[nodiscard]] Range resident_batch() const;
    /// The full batch that takes the most memory: of cropped windows, those of one core go through the network
    /// together.
    [[nodiscard]] Range largest_batch() const;
    /// The arithmetic of `runs`, all batches of this work that were taken, by that of as many forward calls on a
    /// resident batch: a ragged batch, a short last band and a cropped window are less than a whole one.
    [[nodiscard]] double work_per_call(const std::vector<Range>& runs) const;
    [[nodiscard]] double core_pixels(const std::vector<Range>& runs) const;
};

/// Returns the share of `rank`. `whole` points: one forward call each. With `replicate` every rank has the whole image,
/// otherwise only rank 0.
[[nodiscard]] Work make_work(const plan::Point& point, int rank);

/// An image of a group whose windows share batches. All have windows of one extent.
struct ImageWork {
    Work work;
    int64_t num_windows = 0;  // of all ranks
    device::Conversion conversion;
};

/// Returns the share of `rank` of the windows of several images, those of the first image first. Image i lies `stride`
/// rows below image i - 1, at rows that no window of that image reaches.
[[nodiscard]] Work join_work(std::vector<ImageWork> images, int64_t stride, int64_t batch, Range windows);

/// All indices of `runs`, in their order.
[[nodiscard]] std::vector<int64_t> indices_of(const std::vector<Range>& runs);

/// The part of `run`, windows of such a group, that belongs to the image whose windows are `image`, numbered as there.
[[nodiscard]] Range windows_within(const Range& run, const Range& image);

/// Returns the rectangles that runs of windows cover (for tiles at most three per run).
[[nodiscard]] std::vector<Rect> rects_of_windows(const plan::Point& point, const std::vector<Range>& windows);

/// The number of patches in one repetition, summed over ranks.
[[nodiscard]] int64_t num_patches(const plan::Point& point);

}  // namespace pb::run
