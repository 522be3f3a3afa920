#include "plan/rows.hpp"

#include "config/text.hpp"
#include "network/parts/band_pieces.hpp"
#include "network/parts/band_schedule.hpp"
#include "plan/memory_limit.hpp"
#include "plan/prediction.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace pb::plan {

namespace {

/// "halo = carried: ", the setting that a refusal is about.
std::string halo_is(const Point& point) { return "halo = " + config::format_setting(point.settings.halo) + ": "; }

/// What the engine's allocator holds of rows, kept and worked on, without scratch memory.
int64_t bytes_of_rows(const Point& point, const network::BandSchedule& schedule) {
    if (computed_unit(point) == network::ComputedUnit::tile) return network::plan_bands(schedule).arena.bytes;
    const bool are_replayed = point.settings.cuda_graph && point.device == DeviceKind::cuda;
    return network::peak_of_bands(schedule, path_in_rows(point),
                                  are_replayed ? network::RowMemory::fixed : network::RowMemory::own);
}

/// Bytes that `taken` rows of the input and `made` rows of the output take together, for each column.
int64_t in_out_bytes(const Point& point, const network::Graph& graph, int64_t taken, int64_t made) {
    const int64_t values = taken * graph.channels_in() + made * graph.channels_out();
    const int64_t samples = point.device == DeviceKind::cuda ? (taken + made) * point.source.channels : 0;
    return path_in_rows(point).value_bytes * values + sample_bytes(point) * samples;
}

template <class Visit>
void for_schedules(const Point& point, Visit visit) {
    for (int rank = 0; rank < point.num_ranks; ++rank)
        if (const auto schedule = band_schedule(point, rank)) visit(*schedule);
}

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

void check_carried(const Point& point) {
    const config::PointSettings& settings = point.settings;
    if (!settings.network.has_layers())
        throw Refused(halo_is(point) + "the layers of " + settings.network.file + " are not known" +
                      (settings.network.obstacle.empty() ? "" : " (" + settings.network.obstacle + ")") +
                      "; choose halo: " + (point.facts().is_bounded ? "exact, " : "") + "auto or a number");
    if (settings.schedule == config::Schedule::dynamic)
        throw UsageError(halo_is(point) + "each rank needs rows that follow one another; choose schedule: contiguous");
    if (settings.engine == EngineKind::timed)
        throw UsageError(halo_is(point) + "engine timed has no network whose rows could be " +
                         config::format_setting(settings.halo) + "; give pixels");
}

void settle_carried(Point& point, int64_t band_rows) {
    check_carried(point);
    point.band_rows = band_rows;
    point.halo = point.facts().exact_halo;
    point.batch = 1;
}

bool is_torch_in_rows(const Point& point) {
    const config::PointSettings& settings = point.settings;
    return settings.engine == EngineKind::torch &&
           (point.device == DeviceKind::cuda || settings.dtype == Precision::fp32) &&
           settings.layout == Layout::channels_last && settings.network.has_layers();
}

network::MemoryPath path_in_rows(const Point& point) {
    if (point.device == DeviceKind::cpu) return network::kOnednnPath;  // in fp32, as native
    network::MemoryPath path = network::kCudnnPiecesPath;
    path.value_bytes = static_cast<int64_t>(size_of(storage_of(point.settings.dtype)));
    return path;
}

void check_carrying_engine(const Point& point) {
    const config::PointSettings& settings = point.settings;
    if (settings.engine == EngineKind::native && point.device == DeviceKind::cpu) return;
    if (is_torch_in_rows(point)) return;
    throw Refused(fmt::format(
        "{}needs engine native on the CPU, or torch in channels_last, on CUDA or on the CPU in fp32 (here: {}, {}, "
        "{}, {}); choose that, or halo: exact",
        halo_is(point), config::format_setting(settings.engine), name_of(point.device), name_of(settings.dtype),
        config::format_setting(settings.layout)));
}

std::optional<network::BandSchedule> band_schedule(const Point& point, int rank) {
    const TileGrid grid = tile_grid(point);
    const Range windows = windows_of_rank(point, grid, rank);
    if (windows.size() == 0) return std::nullopt;
    const int64_t strips = std::ssize(grid.columns());
    const Range bands{windows.begin / strips, windows.end / strips};
    const int64_t band = carried_band_rows(point), height = grid.padded().h;
    const network::BandShape shape{.rows = {bands.begin * band, std::min(bands.end * band, height)},
                                   .band = std::min(band, height),
                                   .image = {height, grid.window().w},
                                   .unit = computed_unit(point)};
    return network::smallest_schedule(point.graph(), shape, [&point](const network::BandSchedule& schedule) {
        return bytes_of_rows(point, schedule);
    });
}

BytesInRows band_bytes(const Point& point) {
    const int64_t width = tile_grid(point).window().w;
    const int64_t scratch = computed_unit(point) == network::ComputedUnit::tile ? scratch_bytes(point) : 0;
    BytesInRows most;
    for_schedules(point, [&](const network::BandSchedule& schedule) {
        const network::Graph& graph = schedule.graph();
        const int64_t taken = schedule.most_input_rows(), made = schedule.shape().band;
        most.include({bytes_of_rows(point, schedule) + scratch, width * in_out_bytes(point, graph, taken, made)});
    });
    return most;
}

BandPixels band_pixels(const Point& point) {
    const TileGrid grid = tile_grid(point);
    const auto strips = static_cast<double>(grid.columns().size());
    BandPixels pixels{.image = strips * static_cast<double>(grid.padded().h * grid.window().w)};
    for_schedules(point, [&](const network::BandSchedule& schedule) {
        const double here = strips * schedule.macs() / point.facts().mac_per_pixel;
        pixels.all_ranks += here;
        pixels.busiest_rank = std::max(pixels.busiest_rank, here);
        pixels.input_rows += schedule.computed().front().size();
    });
    return pixels;
}

std::string borders_note(const Point& point) {
    const int64_t rows = tile_grid(point).padded().h;
    const BandPixels pixels = band_pixels(point);
    if (pixels.input_rows == rows) return "";
    return fmt::format(
        "halo = carried: at the borders of ranks {} rows of the input are read again, {:.4g} x the arithmetic",
        pixels.input_rows - rows, pixels.all_ranks / pixels.image);
}

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
        most.include({maps, slab.shape().image.w * in_out_bytes(point, graph, taken, made)});
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
