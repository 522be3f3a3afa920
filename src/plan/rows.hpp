// Points whose rows are carried, by `halo: carried`, or whose ranks exchange rows, by `halo: exchanged`, or where
// `halo: auto` chose one of them (context.hpp): the band schedules and the slabs of the ranks, and what these take. A
// window of such a point is a band of the whole width, or carried of a strip (network/parts/band_schedule.hpp), without
// context above and below; a slab is a run of windows.
#pragma once

#include "network/parts/band_schedule.hpp"
#include "network/parts/exchanged_slab.hpp"
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
    /// Keeps the larger one.
    void include(const BytesInRows& other) {
        if (other.all() > all()) *this = other;
    }
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

[[nodiscard]] inline bool is_exchanged(const Point& point) {
    return (point.settings.halo.kind == config::HaloSetting::Kind::exchanged || point.exchanges_rows) &&
           point.settings.workload == config::Workload::tiles;
}

/// Whether a window is a band of the whole width, without context.
[[nodiscard]] inline bool is_in_bands(const Point& point) { return is_carried(point) || is_exchanged(point); }

/// Rows of such a band.
[[nodiscard]] int64_t band_rows(const Point& point);

/// Settles halo and batch of a point with exchanged rows. The halo is that of tiles which give the same pixels. Throws
/// as check_carried().
void settle_exchanged(Point& point);

/// Ranks that own a slab: the first ones.
[[nodiscard]] int num_slabs(const Point& point);

/// The slab of a rank; none where it owns nothing.
[[nodiscard]] std::optional<network::ExchangedSlab> slab_of_rank(const Point& point, int rank);

/// As band_bytes().
[[nodiscard]] BytesInRows slab_bytes(const Point& point);

/// Rows of the largest slab, and of the smallest one.
[[nodiscard]] Range slab_rows(const Point& point);
/// "128", or "96 to 128".
[[nodiscard]] std::string slab_rows_text(const Point& point);

/// Traffic of the slab that sends most.
[[nodiscard]] network::SlabTraffic busiest_traffic(const Point& point);

/// A connection between two ranks.
struct Link {
    double latency_s = 0;
    double bytes_per_s = 0;
};

/// Seconds that the messages of a pass take on the rank that sends most, when nothing is computed meanwhile: each
/// exchange waits once for the latency, and its messages to both neighbours share the bandwidth.
[[nodiscard]] double exchange_seconds(const Point& point, const Link& link);

/// What is sent, for the notes of a point; empty for one slab.
[[nodiscard]] std::string exchange_note(const Point& point);

}  // namespace pb::plan
