#include "plan/slabs.hpp"

#include "plan/memory_limit.hpp"
#include "plan/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace pb::plan {

namespace {

/// The rows of the image that a rank owns.
Range rows_of_rank(const Point& point, const TileGrid& grid, int rank) {
    const Range windows = windows_of_rank(point, grid, rank);
    const int64_t rows = grid.patch().h, height = grid.padded().h;
    return {std::min(windows.begin * rows, height), std::min(windows.end * rows, height)};
}

/// The number, at most `most`, of which a few make `share` with the least left over.
int64_t units_of_band(int64_t share, int64_t most) {
    if (share <= most) return share;
    constexpr int64_t kTrials = 64;
    int64_t best = most;
    for (int64_t units = most; units > std::max(most / 2, most - kTrials); --units)
        if (round_up(share, units) < round_up(share, best)) best = units;
    return best;
}

/// Whole tiles (slab_unit), at most `patch` where that is a tile or more, and no more than an even share of the image,
/// so that ranks have equally many rows whatever the patch is.
int64_t exchanged_band_rows(const Point& point) {
    const int64_t unit = network::slab_unit(point.graph());
    const int64_t units = ceil_div(round_up(point.source.extent.h, point.facts().alignment), unit);
    return unit * units_of_band(ceil_div(units, point.num_ranks), std::max<int64_t>(1, point.settings.patch / unit));
}

/// Slabs that differ in nothing but their place: of many ranks a few are looked at.
template <class Visit>
void for_different_slabs(const Point& point, Visit visit) {
    std::set<std::array<int64_t, 3>> seen;  // rows, and whether there is a neighbour on each side
    const TileGrid grid = tile_grid(point);
    const int slabs = num_slabs(point);
    for (int rank = 0; rank < slabs; ++rank) {
        const int64_t rows = rows_of_rank(point, grid, rank).size();
        if (seen.insert({rows, rank > 0 ? 1 : 0, rank + 1 < slabs ? 1 : 0}).second) visit(*slab_of_rank(point, rank));
    }
}

}  // namespace

int64_t band_rows(const Point& point) {
    return is_exchanged(point) ? exchanged_band_rows(point) : carried_band_rows(point);
}

void settle_exchanged(Point& point) {
    check_carried(point);
    point.exchanges_rows = true;
    point.halo = point.facts().exact_halo;
    point.batch = 1;
}

int num_slabs(const Point& point) {
    return static_cast<int>(std::min<int64_t>(point.num_ranks, tile_grid(point).num_windows()));
}

std::optional<network::ExchangedSlab> slab_of_rank(const Point& point, int rank) {
    const TileGrid grid = tile_grid(point);
    const Range rows = rows_of_rank(point, grid, rank);
    if (rows.size() == 0) return std::nullopt;
    return network::ExchangedSlab(point.graph(), {.rows = rows,
                                                  .above = rows_of_rank(point, grid, rank - 1),
                                                  .below = rows_of_rank(point, grid, rank + 1),
                                                  .image = grid.padded(),
                                                  .value_bytes = path_in_rows(point).value_bytes,
                                                  .unit = computed_unit(point)});
}

BytesInRows slab_bytes(const Point& point) {
    const network::Graph graph = point.graph();
    const bool is_pixelwise = computed_unit(point) == network::ComputedUnit::pixel;
    BytesInRows most;
    for_different_slabs(point, [&](const network::ExchangedSlab& slab) {
        const int64_t maps =
            is_pixelwise ? network::peak_of_pieces(graph, network::slab_steps(graph, slab), 1, path_in_rows(point))
                         : network::plan_exchanged(graph, slab).arena.bytes + scratch_bytes(point);
        const int64_t taken = slab.held(0).size(), made = slab.owned(graph.output()).size();
        int64_t in_out = taken * slab.row_bytes(0) + made * slab.row_bytes(graph.output());
        if (point.device == DeviceKind::cuda)
            in_out += sample_bytes(point) * (taken + made) * slab.shape().image.w * point.source.channels;
        const BytesInRows bytes{maps, in_out};
        if (bytes.all() > most.all()) most = bytes;
    });
    return most;
}

Range slab_rows(const Point& point) {
    Range rows{point.source.extent.h, 0};
    for_different_slabs(point, [&](const network::ExchangedSlab& slab) {
        rows.begin = std::min(rows.begin, slab.shape().rows.size());
        rows.end = std::max(rows.end, slab.shape().rows.size());
    });
    return rows;
}

network::SlabTraffic busiest_traffic(const Point& point) {
    network::SlabTraffic most;
    for_different_slabs(point, [&](const network::ExchangedSlab& slab) {
        if (slab.traffic().bytes > most.bytes) most = slab.traffic();
    });
    return most;
}

double exchange_seconds(const Point& point, const Link& link) {
    const auto exchanges = static_cast<double>(network::travelling_maps(point.graph(), computed_unit(point)).size());
    if (num_slabs(point) < 2) return 0;
    return exchanges * link.latency_s + static_cast<double>(busiest_traffic(point).bytes) / link.bytes_per_s;
}

std::string slab_rows_text(const Point& point) {
    const auto [least, most] = slab_rows(point);
    return least == most ? std::to_string(most) : fmt::format("{} to {}", least, most);
}

std::string exchange_note(const Point& point) {
    const int slabs = num_slabs(point);
    if (slabs < 2) return "";
    const network::SlabTraffic traffic = busiest_traffic(point);
    return fmt::format(
        "halo = exchanged: {} slabs of {} rows; a rank sends up to {} messages a pass, {:.3g} MiB, the largest {:.3g} "
        "MiB",
        slabs, slab_rows_text(point), traffic.messages, static_cast<double>(traffic.bytes) / kMiB,
        static_cast<double>(traffic.largest) / kMiB);
}

}  // namespace pb::plan
