#include "plan/memory_limit.hpp"

#include "config/text.hpp"
#include "plan/prediction.hpp"
#include "plan/rows.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace pb::plan {

namespace {

constexpr double kShareOfMemory = 0.5;    // of what the host has left; the rest is for images
constexpr double kShareOfDevice = 0.8;    // of a GPU's memory; the rest is for libraries and what their allocator keeps
constexpr double kTorchPrediction = 1.1;  // what engine torch may take by what is predicted; that of native is exact

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

int64_t padded_width(const Point& point) { return round_up(point.source.extent.w, point.facts().alignment); }

network::StripCut strip_cut(const Point& point) { return {point.graph(), padded_width(point), computed_unit(point)}; }

/// The peak of a rank; with strips as wide as this.
double peak_mib(Point point, std::optional<int64_t> columns) {
    point.strip_columns = columns;
    return predict(point).value().peak_mib;
}

/// What strips of the point are sure to take.
double strip_mib(const Point& point, int64_t columns) {
    return peak_mib(point, columns) * (point.settings.engine == EngineKind::torch ? kTorchPrediction : 1);
}

/// The strips and the tiles of Winograd's method that a point with carried rows takes.
struct Cut {
    std::optional<int64_t> columns;  // of a strip's window; none: the whole width
    std::optional<int64_t> tile;     // none: the usual one
    double mib = 0;                  // that a rank takes
    double cost = 0;                 // arithmetic, in that of the whole width
};

Cut cut_of(Point point, std::optional<int64_t> columns) {
    point.strip_columns = columns;
    const double mib = columns ? strip_mib(point, *columns) : peak_mib(point, {});
    return {columns, point.winograd_tile, mib, strip_cost(point) * (point.winograd_tile ? kSmallTileCost : 1)};
}

/// As few strips as fit into `most_mib`; where no number of them fits the narrowest.
Cut cut_for(Point point, std::optional<int64_t> tile, double most_mib) {
    point.winograd_tile = tile;
    const network::StripCut strips = strip_cut(point);
    const auto with = [&](int64_t count) { return cut_of(point, strips.window_of(count)); };
    int64_t fitting = strips.most_strips(), few = 1;
    Cut best = cut_of(point, {});
    if (best.mib <= most_mib || fitting == 1) return best;
    best = with(fitting);
    while (best.mib <= most_mib && fitting - few > 1) {  // the memory grows with the width
        const int64_t middle = few + (fitting - few) / 2;
        const Cut wider = with(middle);
        (wider.mib <= most_mib ? fitting : few) = middle;
        if (wider.mib <= most_mib) best = wider;
    }
    return best;
}

/// Whether there are smaller tiles for the point than the usual ones, which a memory limit may ask for.
bool has_small_tiles(const Point& point) {
    const config::PointSettings& settings = point.settings;
    return settings.engine == EngineKind::native && settings.dtype == Precision::fp32 && settings.memory_limit_mib > 0;
}

/// Says in a note that the point has them, and why.
void note_small_tiles(Point& point) {
    point.tiles_note = fmt::format(
        "memory_limit_mib = {}: Winograd tiles of 2 x 2 pixels, not 4 x 4, for {:.0f} instead of {:.0f} MiB of "
        "weights; about {} times the time",
        point.settings.memory_limit_mib, weights_mib(point, network::kSmallWinogradTile),
        weights_mib(point, network::kWinogradTile), kSmallTileCost);
    point.notes.push_back(point.tiles_note);
}

/// What the point takes at least, in the narrowest strips and in either form of Winograd's method.
double least_mib(const Point& point) {
    const double usual = cut_for(point, {}, 0).mib;
    return has_small_tiles(point) ? std::min(usual, cut_for(point, network::kSmallWinogradTile, 0).mib) : usual;
}

/// The cheaper one of the forms of Winograd's method that fit, each in the strips that it needs; the usual one in the
/// whole width where none fits.
void cut_cheapest(Point& point) {
    const double most_mib = point.most_mib;
    Cut best = cut_for(point, {}, most_mib);
    if ((best.columns || best.mib > most_mib) && has_small_tiles(point))
        if (const Cut small = cut_for(point, network::kSmallWinogradTile, most_mib);
            small.mib <= most_mib && (best.mib > most_mib || small.cost < best.cost))
            best = small;
    if (best.mib > most_mib) return;
    point.strip_columns = best.columns;
    point.winograd_tile = best.tile;
    if (best.tile) note_small_tiles(point);
}

void note_strips(Point& point) {
    if (!point.strip_columns) return;
    point.notes.push_back(
        fmt::format("halo = carried: {}, {:.3g} x the arithmetic, because bands of the whole width take {:.0f} MiB a "
                    "rank and {:.0f} are allowed",
                    strips_text(point), strip_cost(point), peak_mib(point, {}), point.most_mib));
}

/// The members of a point whose topology may be of another file, with fewer ranks.
std::vector<int> members_in(const Topology& topology, const Point& point) {
    return members_of(topology, std::min(point.num_ranks, topology.num_ranks()), point.settings.placement);
}

/// Calls `take` with the place of each member and how many of them share its GPU, or of a point on the CPU its node. A
/// GPU that has no name is one rank's.
template <class Take>
void for_each_share(const Point& point, const Topology& topology, const Take& take) {
    const std::vector<int> members = members_in(topology, point);
    for (const int rank : members) {
        const RankPlace& place = topology.place_of(rank);
        const auto sharers = std::ranges::count_if(members, [&](int member) {
            const RankPlace& other = topology.place_of(member);
            const bool has_its_gpu = !place.device_id().empty() && other.device_id() == place.device_id();
            return member == rank || (other.node == place.node && (point.device == DeviceKind::cpu || has_its_gpu));
        });
        take(place, static_cast<double>(sharers));
    }
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

int64_t winograd_tile(const Point& point) { return point.winograd_tile.value_or(network::kWinogradTile); }

network::WinogradForm winograd_form(const Point& point) {
    return network::winograd_form(winograd_tile(point), point.settings.dtype);
}

int64_t weight_bytes(const Point& point) { return weight_bytes_in(point, winograd_form(point)); }

int64_t scratch_bytes(const Point& point) {
    return point.threads * network::native_scratch_bytes(point.graph(), winograd_form(point));
}

double most_mib_of(const Point& point, const Topology& topology) {
    if (point.settings.memory_limit_mib > 0) return static_cast<double>(point.settings.memory_limit_mib);
    const bool on_gpu = point.device == DeviceKind::cuda;
    double least = std::numeric_limits<double>::infinity();
    for_each_share(point, topology, [&](const RankPlace& place, double sharers) {
        const double bytes = on_gpu ? kShareOfDevice * static_cast<double>(place.memory_bytes)
                                    : kShareOfMemory * static_cast<double>(place.free_host_bytes);
        // Groups of ranks beside this one may have devices of their own, but the node has one memory.
        const double all_sharers = sharers * (on_gpu ? 1 : topology.num_apart);
        if (bytes > 0) least = std::min(least, bytes / kMiB / all_sharers);
    });
    return std::isinf(least) ? 0 : least;
}

double device_mib(const Point& point, const Topology& topology) {
    if (point.device != DeviceKind::cuda) return 0;
    double least = std::numeric_limits<double>::infinity();
    for_each_share(point, topology, [&](const RankPlace& place, double sharers) {
        if (place.memory_bytes > 0) least = std::min(least, static_cast<double>(place.memory_bytes) / kMiB / sharers);
    });
    return std::isinf(least) ? 0 : least;
}

std::vector<network::Strip> strips_of(const Point& point) {
    if (point.strip_columns) return strip_cut(point).strips(*point.strip_columns);
    const Range all{0, padded_width(point)};
    return {{all, all}};
}

double strip_cost(const Point& point) {
    const std::vector<network::Strip> strips = strips_of(point);
    return static_cast<double>(std::ssize(strips) * strips.front().window.size()) /
           static_cast<double>(strips.back().window.end);
}

void settle_memory(Point& point) {
    point.strip_columns.reset();
    if (!is_carried(point)) return settle_winograd(point);
    point.winograd_tile.reset();
    if (point.most_mib > 0) cut_cheapest(point);
    note_strips(point);
}

void check_strips(const Point& point) {
    const auto limit = static_cast<double>(point.settings.memory_limit_mib);
    if (limit == 0 || peak_mib(point, point.strip_columns) <= limit) return;
    throw Refused(fmt::format(
        "halo = {}: takes {:.0f} MiB a rank, at least, in strips as narrow as they can be; memory_limit_mib "
        "= {} allows less; choose that much, a smaller patch, or halo: exact",
        config::format_setting(point.settings.halo), std::ceil(least_mib(point)), point.settings.memory_limit_mib));
}

std::string strips_text(const Point& point) {
    if (!point.strip_columns) return "";
    return fmt::format("{} strips of {} columns", strips_of(point).size(), *point.strip_columns);
}

}  // namespace pb::plan
