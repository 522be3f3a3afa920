#include "plan/context.hpp"

#include "plan/memory_limit.hpp"
#include "plan/prediction.hpp"
#include "plan/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pb::plan {

namespace {

constexpr double kEqual = 1.08;      // times are not predicted better: the spread behind `band_cost`
constexpr int64_t kFewestRows = 32;  // of a band: thinner ones take more time, and hardly less memory
constexpr int64_t kUsualRows = 128;  // thicker ones take more memory and save no time (docs/results/cpu-speed.md)
constexpr int64_t kFullCall = int64_t{128} * 128;  // px: images below it share calls (docs/studies/batch_fit.md)
constexpr double kWholeWidth = 1.06;               // work of a pixel in maps of the whole width, see `band_cost`

/// Fills in what follows from the settled point.
ContextWay weigh(Point point) {
    ContextWay way{.point = std::move(point)};
    settle_memory(way.point);
    const Prediction needs = predict(way.point).value();
    way.computed_per_useful = computed_per_useful(way.point);
    way.work_px = needs.flop_busiest_rank / (2 * way.point.facts().mac_per_pixel);
    if (is_carried(way.point)) way.work_px *= band_cost(carried_band_rows(way.point));
    if (is_exchanged(way.point)) way.work_px *= kWholeWidth;
    if (way.point.winograd_tile) way.work_px *= kSmallTileCost;
    way.peak_mib = needs.peak_mib;
    const double most_mib = way.point.most_mib;
    if (most_mib > 0 && way.peak_mib > most_mib)
        way.obstacle = fmt::format("takes {:.0f} MiB a rank, {:.0f} are allowed", way.peak_mib, most_mib);
    return way;
}

ContextWay tiles_way(const Point& open, int64_t halo) {
    Point point = open;
    point.halo = halo;
    const config::BatchSetting& batch = point.settings.batch;
    point.batch = effective_batch(point, batch.is_open() ? 1 : batch.count);
    return weigh(std::move(point));
}

ContextWay bands_way(const Point& open, int64_t band_rows) {
    Point point = open;
    settle_carried(point, band_rows);
    return weigh(std::move(point));
}

/// Whether something is done for want of memory.
bool saves_memory(const ContextWay& way) {
    return !way.obstacle.empty() || way.point.winograd_tile.has_value() || way.point.strip_columns.has_value();
}

/// Strips and small tiles for thick bands only where thin ones take clearly longer.
bool should_be_thinner(const ContextWay& thinner, const ContextWay& thicker) {
    if (!thinner.obstacle.empty()) return !thicker.obstacle.empty() && thinner.peak_mib < thicker.peak_mib;
    const bool is_simpler = !saves_memory(thinner) && saves_memory(thicker);
    return !thicker.obstacle.empty() || thinner.work_px < thicker.work_px * (is_simpler ? kEqual : 1);
}

/// Thinner bands only where they fit, or need no small tiles or strips, and thicker ones do not, or where they share
/// the work out more evenly.
ContextWay carried_way(const Point& open) {
    const int64_t alignment = open.facts().alignment;
    int64_t rows = std::min(open.settings.patch, round_up(kUsualRows, alignment));
    ContextWay best = bands_way(open, rows);
    while (rows / 2 >= kFewestRows && (open.num_ranks > 1 || saves_memory(best))) {
        rows = round_up(rows / 2, alignment);
        ContextWay thinner = bands_way(open, rows);
        if (should_be_thinner(thinner, best)) best = std::move(thinner);
    }
    return best;
}

ContextWay exchanged_way(const Point& open) {
    Point point = open;
    settle_exchanged(point);
    return weigh(std::move(point));
}

bool is_contiguous(const Point& point) { return point.settings.schedule == config::Schedule::contiguous; }

/// Whether one rank would carry rows, whatever memory it has: rather than tiles with `seam_halo` (see context_ways).
bool one_rank_carries(const Point& open, const std::optional<int64_t>& seam_halo) {
    Point alone = open;
    alone.num_ranks = alone.weight_sharers = 1;
    alone.most_mib = static_cast<double>(open.settings.memory_limit_mib);
    const std::vector<ContextWay> ways = context_ways(alone, seam_halo);
    return is_carried(cheapest_way(ways).point);
}

/// Carried and exchanged rows have the same bits, tiles do not.
void keep_bits_of_one_rank(std::vector<ContextWay>& ways) {
    for (ContextWay& way : ways)
        if (!is_in_bands(way.point) && way.obstacle.empty()) {
            way.has_other_bits = true;
            way.obstacle = "its bits are not those of one rank, which carries rows";
        }
}

std::string obstacle_text(const ContextWay& way) { return way.obstacle.empty() ? "" : ", but " + way.obstacle; }

std::string short_text(const ContextWay& way) {
    return fmt::format("{}, {}{:.3g} x the arithmetic{}", way_text(way), way.is_at_least ? "at least " : "",
                       way.computed_per_useful, obstacle_text(way));
}

std::string halo_note_of(const ContextWay& taken) {
    const char* const seams = !taken.is_exact            ? ", with seams below halo_tolerance"
                              : is_in_bands(taken.point) ? ", exact"
                                                         : "";  // its text says so
    return fmt::format("halo = auto: {}{}, {:.3g} x the arithmetic{}", way_text(taken), seams,
                       taken.computed_per_useful, obstacle_text(taken));
}

/// What the others take, each after "; ".
std::string others_text(const std::vector<ContextWay>& ways, const ContextWay& taken) {
    std::string text;
    for (const ContextWay& way : ways)
        if (&way != &taken && !way.has_other_bits) text += "; " + short_text(way);
    return text;
}

/// What follows from the settled rows or halo. `others`: what the other ways take.
void finish(Point& point, std::string note, const std::string& others = "") {
    note_work(point);
    settle_memory(point);
    point.notes.push_back(note + others);
    point.halo_note = std::move(note);
}

void take(Point& point, const std::vector<ContextWay>& ways, const ContextWay& way) {
    if (is_carried(way.point))
        settle_carried(point, *way.point.band_rows);
    else if (is_exchanged(way.point))
        settle_exchanged(point);
    else
        settle_halo(point, *way.point.halo);
    finish(point, halo_note_of(way), others_text(ways, way));
}

/// A search for a halo looks at few places, and a network whose layers are not known may be another one elsewhere: its
/// exact halo is taken without a search, where windows are at most four times as large as their patches.
bool takes_exact_halo(const Point& point) {
    const config::PointSettings& settings = point.settings;
    const network::NetworkFacts& facts = point.facts();
    return settings.halo.kind == config::HaloSetting::Kind::automatic && settings.workload == config::Workload::tiles &&
           point.refusal.empty() && settings.network.is_custom() && !settings.network.has_layers() &&
           facts.is_bounded && 2 * facts.exact_halo <= settings.patch;
}

void take_exact_halo(Point& point) {
    const int64_t halo = point.facts().exact_halo;
    settle_halo(point, halo);
    finish(point, fmt::format("halo = auto: the exact one of {} px, because the layers of {} are not known", halo,
                              point.settings.network.file));
}

}  // namespace

double band_cost(int64_t rows) {
    constexpr double kRowsOfAStart = 2;  // what starting a step takes
    return kWholeWidth + kRowsOfAStart / static_cast<double>(rows);
}

bool is_weighed(const Point& point) {
    const config::PointSettings& settings = point.settings;
    if (settings.halo.kind != config::HaloSetting::Kind::automatic || settings.workload != config::Workload::tiles)
        return false;
    if (settings.batch.largest || point.source.extent.pixels() < kFullCall) return false;
    const bool is_native = settings.engine == EngineKind::native && point.device == DeviceKind::cpu;
    const bool is_torch = is_torch_in_rows(point) && point.device == DeviceKind::cpu;  // whose costs are measured
    if (!(is_native || is_torch) || !point.refusal.empty()) return false;
    return patch_grid(point, 0).num_patches() > 1;
}

std::vector<ContextWay> context_ways(const Point& point, std::optional<int64_t> seam_halo) {
    Point open = point;
    open.band_rows.reset();
    open.strip_columns.reset();
    open.exchanges_rows = false;
    open.notes.clear();
    std::vector<ContextWay> ways;
    if (is_contiguous(open)) ways.push_back(carried_way(open));
    if (is_contiguous(open) && open.num_ranks > 1 && open.settings.engine == EngineKind::native)
        ways.push_back(exchanged_way(open));
    ways.push_back(tiles_way(open, open.facts().exact_halo));
    ways.push_back(tiles_way(open, seam_halo.value_or(open.facts().alignment)));
    ways.back().is_exact = *ways.back().point.halo >= open.facts().exact_halo;
    ways.back().is_at_least = !seam_halo;
    if (open.only_bands) keep_bits_of_one_rank(ways);
    return ways;
}

const ContextWay& cheapest_way(const std::vector<ContextWay>& ways) {
    std::vector<const ContextWay*> possible;
    for (const ContextWay& way : ways)
        if (way.obstacle.empty()) possible.push_back(&way);
    if (possible.empty()) return *std::ranges::min_element(ways, {}, &ContextWay::peak_mib);
    const double least_px = std::ranges::min(possible, {}, &ContextWay::work_px)->work_px;
    std::erase_if(possible, [&](const ContextWay* way) { return way->work_px > kEqual * least_px; });
    const auto exact_first = [](const ContextWay* way) { return std::pair(!way->is_exact, way->peak_mib); };
    return *std::ranges::min(possible, {}, exact_first);
}

std::string way_text(const ContextWay& way) {
    const std::string strips = way.point.strip_columns ? ", " + strips_text(way.point) : "";
    const std::string small =
        way.point.winograd_tile ? fmt::format(", Winograd tiles of 2 x 2 ({} x the time)", kSmallTileCost) : "";
    if (is_carried(way.point))
        return fmt::format("carried rows in bands of {}{}{}", carried_band_rows(way.point), strips, small);
    if (is_exchanged(way.point)) return "exchanged rows" + small;
    const int64_t halo = *way.point.halo;
    if (way.is_exact) return fmt::format("tiles with the exact halo of {} px{}", halo, small);
    return fmt::format("tiles with a halo of {}{} px{}", way.is_at_least ? "at least " : "", halo, small);
}

void weigh_context(Point& point, const Topology& topology) {
    if (!point.halo && takes_exact_halo(point)) return take_exact_halo(point);
    if (point.halo || !is_weighed(point)) return;
    point.most_mib = most_mib_of(point, topology);
    point.only_bands = is_contiguous(point) && point.num_ranks > 1 && one_rank_carries(point, std::nullopt);
    const std::vector<ContextWay> ways = context_ways(point, std::nullopt);
    if (const ContextWay& best = cheapest_way(ways); best.is_exact) take(point, ways, best);
}

void settle_searched_halo(Point& point, int64_t seam_halo) {
    if (!is_weighed(point)) {
        settle_halo(point, seam_halo);
        note_work(point);
        return settle_winograd(point);
    }
    if (is_contiguous(point) && point.num_ranks > 1 && one_rank_carries(point, seam_halo)) point.only_bands = true;
    const std::vector<ContextWay> ways = context_ways(point, seam_halo);
    take(point, ways, cheapest_way(ways));
}

}  // namespace pb::plan
