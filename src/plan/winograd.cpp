#include "plan/winograd.hpp"

#include "network/native_layout.hpp"
#include "plan/prediction.hpp"

#include <fmt/format.h>

namespace pb::plan {

namespace {

double least_peak_mib(const Point& point) {
    if (const auto needs = predict(point)) return needs->peak_mib;
    const int64_t patch = point.settings.patch;
    return peak_parts(point).peak(point.halo ? tile_grid(point).window().pixels() : patch * patch, 1) / kMiB;
}

int64_t weight_bytes_in(const Point& point, network::WinogradForm form) {
    return network::native_weight_bytes(point.graph(), form, point.weight_sharers);
}

double weights_mib(const Point& point, int64_t tile) {
    return static_cast<double>(weight_bytes_in(point, {tile})) / kMiB;
}

}  // namespace

bool fits_limit(const Point& point) {
    const auto limit = static_cast<double>(point.settings.memory_limit_mib);
    return limit == 0 || least_peak_mib(point) <= limit;
}

void settle_winograd(Point& point) {
    point.winograd_tile.reset();
    if (point.settings.engine != EngineKind::native || fits_limit(point)) return;
    point.winograd_tile = network::kSmallWinogradTile;
    if (!fits_limit(point)) return point.winograd_tile.reset();  // always in bf16, which has one size of tiles
    note_small_tiles(point);
}

bool has_small_tiles(const Point& point) {
    const config::PointSettings& settings = point.settings;
    return settings.engine == EngineKind::native && settings.dtype == Precision::fp32 && settings.memory_limit_mib > 0;
}

void note_small_tiles(Point& point) {
    point.tiles_note = fmt::format(
        "memory_limit_mib = {}: Winograd tiles of 2 x 2 pixels, not 4 x 4, for {:.0f} instead of {:.0f} MiB of "
        "weights; about {} times the time",
        point.settings.memory_limit_mib, weights_mib(point, network::kSmallWinogradTile),
        weights_mib(point, network::kWinogradTile), kSmallTileCost);
    point.notes.push_back(point.tiles_note);
}

int64_t winograd_tile(const Point& point) { return point.winograd_tile.value_or(network::kWinogradTile); }

network::WinogradForm winograd_form(const Point& point) {
    return network::winograd_form(winograd_tile(point), point.settings.dtype);
}

int64_t weight_bytes(const Point& point) { return weight_bytes_in(point, winograd_form(point)); }

int64_t scratch_bytes(const Point& point) {
    return point.threads * network::native_scratch_bytes(point.graph(), winograd_form(point));
}

}  // namespace pb::plan
