// Config and Topology to a Plan: the fully specified points of a study, in order. Pure: no MPI, no device, no file.
// What must be tried out first (halo or batch `auto`) stays open in the plan; `run` settles it and calls the same
// arithmetic.
#pragma once

#include "config/settings.hpp"
#include "plan/topology.hpp"
#include "plan/whole_image.hpp"

#include "patchbench/network/network_facts.hpp"
#include "patchbench/plan/tile_grid.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pb {

/// What the plan must know of an image file before it is opened for pixels: the whole image, before any crop.
/// `channels` without alpha.
struct SourceFacts {
    Extent extent;
    int64_t channels = 3;
    DType dtype = DType::f32;  // of the stored samples; a synthetic scene is made as f32
};
/// Called once for each `image.path`, never for synthetic scenes.
using SourceLookup = std::function<SourceFacts(const ImageSettings&)>;
/// What network the weights of a point are for, where they are of a file and known; called once for each network, file
/// and number of the image's channels.
using NetworkLookup = std::function<std::optional<NetworkShape>(const PointSettings&, int64_t channels)>;

/// One fully specified measurement.
struct Point {
    int64_t index = 0;
    std::string key;  // 16 hex digits, see `key_of`: the same measurement has the same key
    PointSettings settings;
    SourceFacts source;                    // after the crop
    std::optional<NetworkShape> relative;  // of weights whose network is larger or smaller than the standard one
    DeviceKind device = DeviceKind::cpu;
    int num_ranks = 1;
    std::optional<int64_t> halo;     // pixels; empty while `auto` is open
    std::optional<int64_t> batch;    // effective (no larger than the largest share); empty while it or the halo is open
    std::string refusal;             // why it cannot be run here; empty: it can. Recorded as `refused`, never run
    double sigma = 0;                // noise level of the image, [0,1] units
    bool uses_sigma = true;          // the network is told it, or sees its input scaled to it
    std::string sigma_note;          // what a user should know of that
    std::vector<std::string> notes;  // "processed / useful pixels = 16: ..." and the like

    [[nodiscard]] NetworkShape shape() const {
        return relative.value_or(standard_shape(settings.network, source.channels));
    }
    [[nodiscard]] const NetworkFacts& facts() const { return network_facts(shape()); }
};

struct Plan {
    StudySettings study;
    std::vector<Point> points;
};

/// Throws UsageError that names the point and the key for every impossible combination (illegal patch or halo with the
/// nearest legal values, ranks that share a device, ...). What this launch or image cannot have (more ranks than were
/// started, a device that is not there, fp16 on the CPU, an odd shape with odd_shape error) makes the point refused; it
/// is thrown when it holds for every point. Whole-image points have halo 0 and batch 1.
/// Without `networks` every network is the standard one.
[[nodiscard]] Plan make_plan(const Config& config, const Topology& topology, const SourceLookup& lookup,
                             const NetworkLookup& networks = {});

/// Settles what `auto` left open, with the notes that follow from it. The halo comes first: the batch (a fixed one is
/// settled with the halo) depends on it. Throws UsageError for an illegal value.
void settle_halo(Point& point, int64_t halo);
void settle_batch(Point& point, int64_t asked);

/// Noise level of the image as the network is told it, [0,1] units: `sigma`, or that of the added noise where it is
/// auto.
[[nodiscard]] double told_sigma(const PointSettings& settings);

/// Whether the network's layers are to be fused. Setting auto: not before launch/gpu_check.sh has shown on a real
/// device that they are right and faster.
[[nodiscard]] bool is_fused(const PointSettings& settings, DeviceKind device);

/// The part of an image of `whole` extent that is denoised: its centre, as image.crop_height and crop_width say.
/// Throws UsageError for a crop that is larger than the image.
[[nodiscard]] Rect crop_of(const ImageSettings& image, Extent whole);

/// Whether a window or image of `seen` has 2^31 or more elements in the network's widest layer, where ATen's 32-bit
/// indexing ends: such a forward call is reported as status index_limit.
[[nodiscard]] bool exceeds_index_limit(const Point& point, Extent seen);

/// FNV-1a (64 bits), as 16 hex digits, over "key=value\n" of all settings in the order of their table and the extent
/// and channels of the image; device, ranks and sigma as resolved, so that `ranks: all` of 4 equals `ranks: 4`.
[[nodiscard]] std::string key_of(const Point& point);

/// The tile grid of a tiles point. Requires that its halo is settled.
[[nodiscard]] TileGrid tile_grid(const Point& point);

/// Windows of `rank` (by number among those that take part) in the point's grid; none beyond them. dynamic: all, of
/// which it takes batches until none is left.
[[nodiscard]] Range windows_of_rank(const Point& point, const TileGrid& grid, int rank);

/// Batches that `windows` are cut into: [begin, end) of window indices each; the last may be short.
[[nodiscard]] std::vector<Range> cut_batches(Range windows, int64_t batch);

/// Batch that can be run: no larger than the largest share of a rank.
[[nodiscard]] int64_t effective_batch(int64_t asked, int64_t num_windows, int num_ranks);

/// Whether devices are simulated (engine `timed`): no network runs, and its times are no measurements of one.
[[nodiscard]] inline bool is_simulated(const Point& point) { return point.settings.engine == EngineKind::timed; }

/// Short name of a point for tables and file names, e.g. "dncnn-p256-h20-b4-fp32" or "drunet-2048x1228-split-bf16"; of
/// the engine `timed` "simulated-dncnn-p256-h20-b4-fp32". Points that differ in other settings share it.
[[nodiscard]] std::string label_of(const Point& point);

}  // namespace pb
