// Config and Topology to a Plan: the fully specified points of a study, in order. Pure: no MPI, no device, no file.
// What must be tried out first (halo or batch `auto`) stays open in the plan; `run` settles it and calls the same
// arithmetic.
#pragma once

#include "patchbench/config/settings.hpp"
#include "patchbench/plan/tile_grid.hpp"
#include "patchbench/plan/topology.hpp"
#include "patchbench/plan/whole_image.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pb {

/// What the plan must know of an image before it is opened for pixels. `channels` without alpha.
struct SourceFacts {
    Extent extent;
    int64_t channels = 3;
};
using SourceLookup = std::function<SourceFacts(const ImageSettings&)>;

/// One fully specified measurement.
struct Point {
    int64_t index = 0;
    std::string key;  // 16 hex digits over all settings and the image: the same point has the same key
    PointSettings settings;
    SourceFacts source;  // after the crop
    DeviceKind device = DeviceKind::cpu;
    int num_ranks = 1;
    std::optional<int64_t> halo;     // pixels; empty while `auto` is open
    std::optional<int64_t> batch;    // effective (no larger than the largest share); empty while `auto` is open
    double sigma = 0;                // told to the network
    std::vector<std::string> notes;  // "processed / useful pixels = 16: ..." and the like

    [[nodiscard]] const NetworkFacts& facts() const { return network_facts(settings.network); }
};

struct Plan {
    StudySettings study;
    std::vector<Point> points;
};

/// Throws UsageError that names the point and the key for every impossible combination (illegal patch or halo with the
/// nearest legal values, more ranks than were started, fp16 on the CPU, whole workload with odd_shape error, ...).
[[nodiscard]] Plan make_plan(const Config& config, const Topology& topology, const SourceLookup& lookup);

/// The tile grid of a tiles point. Requires that its halo is settled.
[[nodiscard]] TileGrid tile_grid(const Point& point);

/// Windows of `rank` in the point's grid; empty for ranks that do not take part.
[[nodiscard]] Range windows_of_rank(const Point& point, const TileGrid& grid, int rank);

/// Batches that `windows` are cut into: [begin, end) of window indices each; the last may be short.
[[nodiscard]] std::vector<Range> cut_batches(Range windows, int64_t batch);

/// Batch that can be run: no larger than the largest share of a rank.
[[nodiscard]] int64_t effective_batch(int64_t asked, int64_t num_windows, int num_ranks);

/// Short name of a point for tables and file names, e.g. "dncnn-p256-h20-b4-fp32".
[[nodiscard]] std::string label_of(const Point& point);

}  // namespace pb
