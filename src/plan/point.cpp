// Functions of a single point.
#include "base/text.hpp"
#include "config/text.hpp"
#include "plan/cropping.hpp"
#include "plan/memory_limit.hpp"
#include "plan/plan.hpp"
#include "plan/prediction.hpp"
#include "plan/rows.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pb::plan {

namespace {

std::string extent_text(Extent extent) { return fmt::format("{}x{}", extent.h, extent.w); }

// A plan that processes more than this many times the useful pixels gets a note.
constexpr double kNotableOverhead = 4;

/// `share`: what a rank has, "window", "band" or "slab".
void note_idle_ranks(Point& point, const char* share) {
    const int64_t shares = tile_grid(point).num_windows();
    if (shares < point.num_ranks)
        point.notes.push_back(
            fmt::format("{} of {} ranks have no {}", point.num_ranks - shares, point.num_ranks, share));
}

void note_grid(Point& point, const TileGrid& grid) {
    const double overhead = computed_per_useful(point);  // the batch is not settled yet
    if (overhead > kNotableOverhead)
        point.notes.push_back(fmt::format(
            "{} = {:.3g}: a larger patch or a smaller halo saves work",
            is_cropped(point) ? "arithmetic / that of the useful pixels" : "processed / useful pixels", overhead));
    if (2 * grid.num_windows() <= grid.num_patches())
        point.notes.push_back(fmt::format("windows that coincide are run once: {} for {} patches",
                                          counted(grid.num_windows(), "window"), grid.num_patches()));
    note_idle_ranks(point, "window");
    if (exceeds_index_limit(point, grid.window()))
        point.notes.push_back("a window of " + extent_text(grid.window()) +
                              " px has 2^31 or more elements in the widest layer: status index_limit");
}

TileSpec bands_of(const Point& point) {
    return {.patch = band_rows(point), .alignment = point.facts().alignment, .full_width = true};
}

TileGrid strip_grid(const Point& point) {
    std::vector<AxisTile> columns;
    for (const auto& [window, core] : strips_of(point))
        columns.push_back({window.begin, {core.begin, std::min(core.end, point.source.extent.w)}});
    return {point.source.extent, bands_of(point), std::move(columns), *point.strip_columns};
}

uint64_t fnv1a(const std::string& text) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const unsigned char byte : text) hash = (hash ^ byte) * 0x100000001b3;
    return hash;
}

}  // namespace

bool is_fused(const Point& point) {
    const config::PointSettings& settings = point.settings;
    const bool can_be = point.device == DeviceKind::cuda && settings.engine == EngineKind::torch &&
                        settings.network.has_layers() && !is_in_bands(point) && point.refusal.empty();
    if (!can_be || settings.fusion == FusionKind::off) return false;
    if (settings.fusion == FusionKind::on) return true;
    // The check of fused layers takes more memory than the largest batch leaves.
    return settings.dtype != Precision::fp32 && settings.layout == Layout::channels_last && !settings.batch.largest &&
           !is_cropped(point);
}

void note_sigma(Point& point) {
    const config::ImageSettings& image = point.settings.image;
    if (point.sigma == 0 && point.settings.sigma.is_automatic() && point.facts().takes_sigma)
        point.notes.emplace_back(
            "sigma is 0, as image.noise_sigma: the network is told that there is no noise; set it to that of the "
            "image");
    if (!image.clean.empty() && image.noise_sigma > 0)
        point.notes.push_back(fmt::format(
            "noise of {} is added to the image; if it is noisy already, as an image with image.clean may be, set "
            "image.noise_sigma to 0",
            config::format_setting(image.noise_sigma)));
    if (point.settings.trained_sigma.is_automatic() || !point.facts().takes_sigma) return;
    point.sigma_note = "trained_sigma has no effect: " + point.settings.network.name() + " is told the noise level";
    point.notes.push_back(point.sigma_note);
}

void note_work(Point& point) {
    if (point.settings.workload != config::Workload::tiles || !point.halo) return;
    if (!is_in_bands(point)) return note_grid(point, tile_grid(point));
    note_idle_ranks(point, is_carried(point) ? "band" : "slab");
    const std::string note = is_carried(point) ? borders_note(point) : exchange_note(point);
    if (!note.empty()) point.notes.push_back(note);
}

void settle_halo(Point& point, int64_t halo) {
    require(point.settings.workload == config::Workload::tiles, "only tiles have a halo");
    point.halo = halo;
    (void)tile_grid(point);  // legal?
    if (!point.settings.batch.is_open()) settle_batch(point, point.settings.batch.count);
}

void settle_batch(Point& point, int64_t asked) {
    if (asked < 1) throw UsageError(fmt::format("batch = {}: must be at least 1", asked));
    point.batch = effective_batch(point, asked);
    if (*point.batch == asked) return;
    const bool is_networks = point.facts().most_windows == *point.batch;
    point.notes.push_back(fmt::format(
        "batch {} instead of {}: {}", *point.batch, asked,
        is_networks ? point.settings.network.file + " takes no more windows in one call" : "no rank has more windows"));
}

Rect crop_of(const config::ImageSettings& image, Extent whole) {
    const Extent crop{image.crop_height == 0 ? whole.h : image.crop_height,
                      image.crop_width == 0 ? whole.w : image.crop_width};
    if (crop.h > whole.h || crop.w > whole.w)
        throw UsageError("image.crop_height, image.crop_width: " + extent_text(crop) + " px do not fit into " +
                         image.path + " of " + extent_text(whole) + " px");
    return centre_of(whole, crop);
}

network::Graph Point::graph() const {
    if (!settings.network.is_custom()) return network::graph_of(shape());
    require(settings.network.has_layers(), "the layers of " + settings.network.file + " are not known");
    return *settings.network.card->layers;
}

bool exceeds_index_limit(const Point& point, Extent seen) {
    return static_cast<double>(seen.pixels()) >= 0x1p31 / point.facts().widest_map;
}

std::string key_of(const Point& point) {
    config::PointSettings resolved = point.settings;
    resolved.device = point.device == DeviceKind::cuda ? config::DeviceChoice::cuda : config::DeviceChoice::cpu;
    resolved.ranks.count = point.num_ranks;
    resolved.sigma = point.sigma;
    if (point.halo && resolved.halo.kind == config::HaloSetting::Kind::exact)
        resolved.halo = {config::HaloSetting::Kind::pixels, *point.halo};
    const bool chose_halo = resolved.halo.kind == config::HaloSetting::Kind::automatic;
    if (point.batch && !resolved.batch.is_open() && !chose_halo)
        resolved.batch = {*point.batch};  // a batch found by measuring stays auto
    std::string text;
    config::work_fields(std::as_const(resolved), [&](const config::FieldName& field, const auto& value) {
        text += std::string(field.key) + "=" + config::format_setting(value) + "\n";
    });
    text += fmt::format("{}x{}", extent_text(point.source.extent), point.source.channels);
    return fmt::format("{:016x}", fnv1a(text));
}

TileGrid tile_grid(const Point& point) {
    require(point.settings.workload == config::Workload::tiles, "a whole-image point has no tile grid");
    require(point.halo.has_value(), "the halo of the point is still open");
    if (is_carried(point) && point.strip_columns) return strip_grid(point);
    if (is_in_bands(point)) return {point.source.extent, bands_of(point)};
    return patch_grid(point, *point.halo);
}

TileGrid patch_grid(const Point& point, int64_t halo) {
    const network::NetworkFacts& facts = point.facts();
    return {point.source.extent,
            {.patch = point.settings.patch, .halo = halo, .alignment = facts.alignment, .step = facts.step}};
}

Range windows_of_rank(const Point& point, const TileGrid& grid, int rank) {
    if (rank < 0 || rank >= point.num_ranks) return {};
    if (point.settings.schedule == config::Schedule::dynamic) return {0, grid.num_windows()};
    if (!is_exchanged(point)) {
        const int64_t strips = grid.has_own_columns() ? std::ssize(grid.columns()) : 1;  // a rank has all of a band
        const Range rows = shard(grid.num_windows() / strips, rank, point.num_ranks);
        return {rows.begin * strips, rows.end * strips};
    }
    const int64_t slabs = std::min<int64_t>(point.num_ranks, grid.num_windows());  // side by side on the first ranks
    return rank < slabs ? shard(grid.num_windows(), rank, slabs) : Range{};
}

std::vector<Range> cut_batches(Range windows, int64_t batch) {
    require(batch >= 1, "a batch holds at least one window");
    std::vector<Range> batches;
    for (int64_t begin = windows.begin; begin < windows.end; begin += batch)
        batches.push_back({begin, std::min(begin + batch, windows.end)});
    return batches;
}

int64_t effective_batch(const Point& point, int64_t asked) {
    const int64_t largest_share = ceil_div(tile_grid(point).num_windows(), int64_t{point.num_ranks});
    const int64_t taken = point.facts().most_windows.value_or(asked);
    return std::max<int64_t>(1, std::min({asked, largest_share, taken}));
}

std::optional<ImagePath> path_of(const Point& point) {
    if (point.settings.workload == config::Workload::tiles) return ImagePath::tiles;
    try {
        const auto calls = whole_image_calls(point.facts(), point.source.extent, point.settings.odd_shape);
        if (calls.size() > 1) return ImagePath::split;
        return calls.front().window.extent == point.source.extent ? ImagePath::whole : ImagePath::pad;
    } catch (const UsageError&) {
        return std::nullopt;
    }
}

std::string engine_part(const Point& point) {
    const EngineKind engine = point.settings.engine;
    return engine == EngineKind::torch || is_simulated(point) ? "" : "-" + std::string(name_of(engine));
}

std::string halo_text(const Point& point) {
    if (is_carried(point)) return "carried";
    if (is_exchanged(point)) return "exchanged";
    const config::HaloSetting& asked = point.settings.halo;
    const bool is_number = asked.kind == config::HaloSetting::Kind::pixels;
    return point.halo  ? std::to_string(*point.halo)
           : is_number ? std::to_string(asked.pixels)
                       : config::format_setting(asked);
}

std::string label_of(const Point& point) {
    const config::PointSettings& settings = point.settings;
    const std::string network = settings.network.name() + engine_part(point);
    const std::string dtype(name_of(settings.dtype));
    if (settings.workload == config::Workload::whole)
        return network + "-" + extent_text(point.source.extent) + "-" + std::string(name_of(settings.odd_shape)) + "-" +
               dtype;
    const std::string simulated = is_simulated(point) ? "simulated-" : "";
    const std::string halo = halo_text(point);
    const std::string batch = point.batch ? std::to_string(*point.batch) : config::format_setting(settings.batch);
    return fmt::format("{}{}-p{}-h{}-b{}-{}", simulated, network, settings.patch, halo, batch, dtype);
}

}  // namespace pb::plan
