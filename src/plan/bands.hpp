// Points whose rows are carried, by `halo: carried` or because `halo: auto` chose it (context.hpp): the band schedules
// of their ranks, and what these take. A window of such a point is a band of the whole width or of a strip
// (network/parts/band_schedule.hpp), without context above and below.
#pragma once

#include "network/parts/band_schedule.hpp"
#include "plan/plan.hpp"

#include <optional>

namespace pb::plan {

[[nodiscard]] inline bool is_carried(const Point& point) {
    return (point.settings.halo.kind == config::HaloSetting::Kind::carried || point.band_rows) &&
           point.settings.workload == config::Workload::tiles;
}

/// Throws UsageError or Refused with the setting that does not go with carried or exchanged rows, other than engine and
/// device.
void check_carried(const Point& point);

/// Rows of each band but the last.
[[nodiscard]] inline int64_t carried_band_rows(const Point& point) {
    return point.band_rows.value_or(point.settings.patch);
}

/// What the engine computes of a map together; tiles for engines that cannot carry rows.
[[nodiscard]] inline network::ComputedUnit computed_unit(const Point& point) {
    return point.settings.engine == EngineKind::torch ? network::ComputedUnit::pixel : network::ComputedUnit::tile;
}

/// Settles halo, bands and batch of a point with carried rows. The halo is that of tiles which give the same pixels.
/// Throws as check_carried().
void settle_carried(Point& point, int64_t band_rows);

/// Whether the engine torch can carry rows as the point is placed: on the CPU in fp32, on CUDA in every precision. The
/// engine native always can.
[[nodiscard]] bool is_torch_in_rows(const Point& point);

/// How the engine torch allocates maps where rows are carried or exchanged; native's values are as large.
[[nodiscard]] network::MemoryPath path_in_rows(const Point& point);

/// Throws Refused where the engine or the device cannot carry or exchange rows.
void check_carrying_engine(const Point& point);

/// The schedule of a rank, for each of its strips; none where it has no band.
[[nodiscard]] std::optional<network::BandSchedule> band_schedule(const Point& point, int rank);

/// What the engine's allocator holds besides the weights, on the rank where it is most.
struct BytesInRows {
    int64_t maps = 0;    // rows that are kept and worked on, border rows, and the scratch memory of the threads
    int64_t in_out = 0;  // input and output of a step, or of a slab

    [[nodiscard]] int64_t all() const { return maps + in_out; }
};
[[nodiscard]] BytesInRows band_bytes(const Point& point);

/// In pixels of the whole network: what the ranks compute.
struct BandPixels {
    double all_ranks = 0;
    double busiest_rank = 0;
    double image = 0;        // of the padded image, in its strips
    int64_t input_rows = 0;  // that all ranks take; those of the image, and the context at borders of ranks
};
[[nodiscard]] BandPixels band_pixels(const Point& point);

/// What the borders of ranks cost; empty for one rank.
[[nodiscard]] std::string borders_note(const Point& point);

}  // namespace pb::plan
