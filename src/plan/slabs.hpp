// Points whose ranks exchange rows, by `halo: exchanged` or because `halo: auto` chose it (context.hpp): the slabs of
// their ranks, and what travels between them. A window of such a point is a band of the whole width, without context; a
// slab is a run of windows.
#pragma once

#include "network/parts/exchanged_slab.hpp"
#include "plan/bands.hpp"

#include <optional>

namespace pb::plan {

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
