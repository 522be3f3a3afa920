#include "run/verify/verification.hpp"

#include "base/mapped.hpp"
#include "config/text.hpp"
#include "network/graph_facts.hpp"
#include "plan/rows.hpp"
#include "run/agreement.hpp"
#include "run/point/exchange.hpp"
#include "run/verify/expected_tiles.hpp"
#include "run/verify/output_scan.hpp"
#include "run/verify/probes.hpp"
#include "run/verify/reach.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace pb::run {

namespace {

/// Calls `find` on each rank. Adds the error, with the names of the ranks that found it, to the reasons of all ranks.
template <class Find>
void ask_all(const Team& team, record::Verification& result, Find&& find) {
    std::optional<std::string> mine;
    together(team.ranks, [&] { mine = find(); });
    if (const auto all = team.ranks.agree(mine)) result.reasons.push_back(*all);
}

/// The same rows, and the columns of a strip.
plan::Tile at_columns_of(const plan::Tile& strip, const plan::Tile& band) {
    return {{band.window.row, strip.window.column, {band.window.extent.h, strip.window.extent.w}},
            {band.core.row, strip.core.column, {band.core.extent.h, strip.core.extent.w}}};
}

StripRules strip_rules(const Subject& subject) {
    const Reach& reach = subject.reference.reach();
    const int64_t width = subject.reference.source().extent().w, columns = subject.point().strip_columns.value();
    const int64_t tile = subject.settings().engine == EngineKind::native ? 4 : 1;
    return {.width = width,
            .padded = round_up(width, reach.alignment),
            .columns = columns,
            .unit = reach.alignment * tile,
            .before = reach.before,
            .behind = reach.behind};
}

/// `expected`: by index, of which there are `count`.
template <class Expected>
std::optional<std::string> compare_tiles(const RankShare& share, int64_t count, Expected expected) {
    for (const int64_t index : indices_of(share.windows_done())) {
        const plan::Tile tile = share.work().tile(index);
        if (index < count && tile == expected(index)) continue;
        return fmt::format(
            "window {} lies at row {}, column {} and keeps row {}, column {}, which is not where the tile geometry "
            "puts it: a fault of the tiling, please report it",
            index, tile.window.row, tile.window.column, tile.core.row, tile.core.column);
    }
    return std::nullopt;
}

/// Compares the tiles of this rank with their definition.
std::optional<std::string> find_wrong_tile(const Subject& subject) {
    const plan::Point& point = subject.point();
    if (point.settings.workload != config::Workload::tiles) return std::nullopt;
    const Extent image = subject.reference.source().extent();
    const Reach& reach = subject.reference.reach();
    const bool in_bands = plan::is_in_bands(point);  // of the whole width, without context
    const int64_t patch = in_bands ? plan::band_rows(point) : point.settings.patch;
    const ExpectedTiles expected(image, {patch, in_bands ? round_up(image.w, reach.alignment) : patch},
                                 in_bands ? 0 : point.halo.value(), reach.alignment, reach.step);
    if (!point.strip_columns)
        return compare_tiles(subject.share, expected.count(), [&](int64_t index) { return expected.tile(index); });
    const std::vector<plan::Tile> strips = strips_of_band(subject.share.work(), image.w);
    if (auto wrong = find_wrong_strip(strips, strip_rules(subject))) return wrong;
    const int64_t count = std::ssize(strips);
    return compare_tiles(subject.share, expected.count() * count, [&](int64_t index) {
        return at_columns_of(strips[static_cast<size_t>(index % count)], expected.tile(index / count));
    });
}

/// Checks the noise in some of this rank's windows, as the pipeline read them.
std::optional<std::string> find_noise_fault(const Subject& subject) {
    constexpr size_t kMostWindows = 2;
    const double sigma = subject.settings().image.noise_sigma;
    if (sigma <= 0) return std::nullopt;
    const std::vector<int64_t> indices = shuffled(subject.share.windows_done(), 2);
    const std::span some = std::span(indices).first(std::min(indices.size(), kMostWindows));
    const auto parts = mapped(some, [&](int64_t index) { return subject.share.work().tile(index).core; });
    return find_wrong_noise(subject.share.windows(), subject.reference.source(), parts, sigma);
}

/// Returns an error when the weights of this rank differ from the root's.
std::optional<std::string> find_other_weights(const Subject& subject, const std::string& own, const std::string& root) {
    if (own == root) return std::nullopt;
    return "weights differ from those of rank 0 (" + subject.trace.weights_source + "): sha256 of the values " + own +
           ", not " + root;
}

/// Whether a window of any rank is unchanged, which no network does to noise, or all zeros. A single window is the
/// whole output, where both are found in any case.
bool looks_wrong(const Subject& subject) {
    if (!subject.is_held() || plan::tile_grid(subject.point()).num_windows() == 1) return false;
    bool here = false;
    together(subject.team.ranks, [&] {
        const RankShare& share = subject.share;
        const Anomalies found = find_anomalies(subject.output(), share.windows(), share.work(), share.windows_done());
        here = found.has_unchanged || found.has_blank;
    });
    return subject.team.ranks.max(here ? 1 : 0) > 0;
}

/// Collective. The result is complete on the root.
void check_held_output(const Subject& subject, record::Verification& result) {
    TrivialOutput trivial;
    together(subject.team.ranks, [&] {
        if (subject.team.is_root()) trivial = scan_held_output(subject, result);
    });
    trivial.agree(subject.team.ranks);
    judge_trivial_output(subject, trivial, result);
}

/// The tolerance covers the error of the precision, whose root mean square is much smaller than its maximum, and the
/// rounding of stored samples. Where there is little to change, its share is twice what was measured in bf16
/// (docs/reading-results.md). That of fp32 is small enough everywhere.
Tolerance tolerance_for(Precision precision, DeviceKind device, double rounding) {
    constexpr double kRmsShare = 0.125;
    const bool is_low = precision != Precision::fp32;
    const double largest = tolerance_of(precision, device), rms = kRmsShare * largest;
    return {.largest = largest + rounding,
            .rms = std::hypot(rms, rounding),
            .least_rms = std::hypot(is_low ? rms / 2 : rms, rounding),
            .least_missing = std::hypot(is_low ? rms / 6 : rms, rounding)};
}

/// The time of a pixel on the serial fp32 path of LibTorch beside that of the pass: about three times that of the
/// native engine (docs/performance.md). For GPUs and lower precisions it is assumed to be the same.
double reference_cost(const plan::Point& point) {
    const config::PointSettings& settings = point.settings;
    const bool is_same_path =
        settings.engine == EngineKind::torch && settings.dtype == Precision::fp32 && point.device == DeviceKind::cpu;
    return is_same_path ? 1 : 3;
}

/// The work of a part in the middle of the window `seen`, as pixels of the whole network.
double cropped_pixels(const network::Graph& graph, Extent seen, Extent part) {
    const Rect core{(seen.h - part.h) / 2, (seen.w - part.w) / 2, part};
    return crop_to(graph, seen, core).macs(core) / network::mac_per_pixel(graph);
}

}  // namespace

std::string key_of(const Subject& subject, const Rect& probe) {
    const config::ImageSettings& image = subject.settings().image;
    const Extent extent = subject.reference.source().extent();
    image::ImageFile* file = subject.reference.source().file();
    // A network whose layers are not known is verified by another engine: which one depends on the point's own.
    const config::NetworkSetting& network = subject.settings().network;
    const std::string engine = network.has_layers() ? "" : config::format_setting(subject.settings().engine);
    return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", network.name(), engine,
                       subject.trace.weights_sha256, image.path, subject.reference.source().version(), image.raw,
                       file == nullptr ? 0 : file->page_number(), image.range, image.nodata, image.bands, image.seed,
                       image.noise_sigma, subject.point().sigma, subject.reference.gain(),
                       name_of(subject.reference.layout()), extent.h, extent.w, probe.row, probe.column, probe.extent.h,
                       probe.extent.w);
}

double tolerance_of(Precision precision, DeviceKind device) {
    switch (precision) {
        case Precision::fp32: return device == DeviceKind::cuda ? 3e-4 : 1e-4;
        case Precision::tf32: return 1e-2;
        case Precision::fp16: return 2e-2;
        case Precision::bf16: return 1e-1;
    }
    return 0;
}

record::Verification verify(const Subject& subject, const std::string& weights_digest, ReferenceCache& cache,
                            CheckDepth depth) {
    const Team& team = subject.team;
    record::Verification result;
    result.output_rounding = subject.output().quantisation().rounding;
    const Tolerance tolerance = tolerance_for(subject.settings().dtype, team.place.device.kind, result.output_rounding);
    result.window_tolerance = tolerance.largest;
    result.seam_tolerance = result.window_tolerance;

    const std::string root_digest = team.ranks.broadcast(weights_digest);
    ask_all(team, result, [&] { return find_wrong_fact(subject.reference.weights()); });
    ask_all(team, result, [&] { return find_short_halo(subject.point(), subject.reference.weights()); });
    ask_all(team, result, [&] { return find_other_weights(subject, weights_digest, root_digest); });
    ask_all(team, result, [&] { return find_wrong_tile(subject); });
    ask_all(team, result, [&] { return find_noise_fault(subject); });
    ask_all(team, result, [&] { return find_lost_values(subject.output()); });
    if (const auto fault = find_coverage_fault(subject.trace, team, subject.share)) result.reasons.push_back(*fault);
    if (const auto lost = find_lost_rows(subject.point(), team, subject.share)) result.reasons.push_back(*lost);
    if (!subject.is_held()) scan_streamed_output(subject, result);

    const bool is_readable = subject.is_held() || result.pixels_not_finite == 0;
    if (is_readable && depth != CheckDepth::windows && looks_wrong(subject)) depth = CheckDepth::windows;
    const bool is_computed_again = is_readable && depth != CheckDepth::outputs;
    if (is_computed_again) {
        check_windows(subject, tolerance, depth == CheckDepth::parts, result);
        check_fp64(subject, tolerance, cache, result);
    }
    if (subject.is_held()) check_held_output(subject, result);
    together(team.ranks, [&] {
        if (team.is_root() && is_computed_again && depth != CheckDepth::parts) check_seams(subject, cache, result);
    });
    result.outcome =
        result.reasons.empty() ? record::Verification::Outcome::passed : record::Verification::Outcome::failed;
    return result;
}

CheckDepth CheckBudget::decide(double pass_px, double check_px, const std::optional<Extent>& window) {
    pass_px_ += pass_px;
    const bool is_new = window && windows_.emplace(window->h, window->w).second;
    if (!is_distrusted_ && !is_new && check_px_ > 0 && check_px_ + check_px > share_ * pass_px_)
        return CheckDepth::outputs;
    check_px_ += check_px;
    return CheckDepth::windows;
}

double check_pixels(const plan::Point& point, const engine::Weights& weights) {
    const plan::TileGrid grid = plan::tile_grid(point);
    const int64_t probes = point.settings.protocol.verify_probes;
    const int64_t windows = std::min(grid.num_windows(), std::max<int64_t>(point.num_ranks, probes));
    const int64_t context = reach_of(weights).context;
    const auto pixels_of = [&](const Extent& part) {
        const Extent seen{std::min(part.h + 2 * context, grid.padded().h),
                          std::min(part.w + 2 * context, grid.padded().w)};
        return can_crop(weights, point.device) ? cropped_pixels(weights.graph(), seen, part)
                                               : static_cast<double>(seen.pixels());
    };
    if (plan::is_in_bands(point))
        return reference_cost(point) * static_cast<double>(windows) * pixels_of({kProbeEdge, kProbeEdge});
    auto pixels = static_cast<double>(windows * grid.window().pixels());
    for (const Rect& probe : seam_probes(grid, probes)) pixels += pixels_of(probe.extent);
    return reference_cost(point) * pixels;
}

}  // namespace pb::run
