#include "plan/bands.hpp"

#include "config/text.hpp"
#include "network/parts/band_memory.hpp"
#include "network/parts/band_pieces.hpp"
#include "plan/memory_limit.hpp"
#include "plan/prediction.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

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

template <class Visit>
void for_schedules(const Point& point, Visit visit) {
    for (int rank = 0; rank < point.num_ranks; ++rank)
        if (const auto schedule = band_schedule(point, rank)) visit(*schedule);
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
    const int64_t value_bytes = path_in_rows(point).value_bytes;
    const int64_t scratch = computed_unit(point) == network::ComputedUnit::tile ? scratch_bytes(point) : 0;
    BytesInRows most;
    for_schedules(point, [&](const network::BandSchedule& schedule) {
        const network::Graph& graph = schedule.graph();
        const int64_t taken = schedule.most_input_rows(), made = schedule.shape().band;
        int64_t row_bytes = value_bytes * (taken * graph.channels_in() + made * graph.channels_out());
        if (point.device == DeviceKind::cuda) row_bytes += sample_bytes(point) * (taken + made) * point.source.channels;
        const BytesInRows bytes{bytes_of_rows(point, schedule) + scratch, row_bytes * width};
        if (bytes.all() > most.all()) most = bytes;
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

}  // namespace pb::plan
