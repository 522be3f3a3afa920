#include "base/stopwatch.hpp"
#include "image/quality.hpp"
#include "plan/rows.hpp"
#include "record/row.hpp"
#include "run/agreement.hpp"
#include "run/verify/difference.hpp"
#include "run/verify/probes.hpp"
#include "run/verify/reach.hpp"
#include "run/verify/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace pb::run {

image::Image expected_of(const Subject& subject, ReferencePath& reference, const plan::Tile& tile, const Rect& part) {
    const plan::Point& point = subject.point();
    if (!plan::is_in_bands(point)) return crop(reference.run(tile.window), tile.window, part);
    return reference.run_with_context(part, reference.reach().context, plan::tile_grid(point).padded());
}

namespace {

/// The windows of one rank, and those among them that look wrong.
struct MadeWindows {
    std::vector<Range> runs;
    Anomalies anomalies;
};

template <class V, record::Like<MadeWindows> M>
void fields(V& v, M& made) {
    v("runs", made.runs);
    v("has_unchanged", made.anomalies.has_unchanged);
    v("windows", made.anomalies.windows);
}

std::string describe(const Rect& core, int64_t index, const Difference& worst, const Tolerance& tolerance) {
    const std::string what = std::isnan(worst.largest) ? "windows are not finite:"
                                                       : fmt::format("windows differ from the serial fp32 path: {} in",
                                                                     to_text(worst, tolerance));
    return fmt::format("{} window {}, rows {} to {}, columns {} to {}, at row {}, column {}, channel {}", what, index,
                       core.row, core.row + core.extent.h - 1, core.column, core.column + core.extent.w - 1, worst.row,
                       worst.column, worst.channel);
}

class WindowChecker {
  public:
    WindowChecker(const Subject& subject, const Tolerance& tolerance, bool in_parts)
        : subject_(subject),
          work_(subject.share.work()),
          node_(subject.team.node),
          tolerance_(tolerance),
          in_parts_(in_parts) {}

    void run(record::Verification& result) {
        const int maker = can_swap() ? (node_.rank() + 1) % node_.size() : node_.rank();
        std::vector<double> own;
        together(subject_.team.ranks, [&] { own = record::pack(made_here()); });
        const auto made = record::unpack<MadeWindows>(node_.all_gather(own).at(static_cast<size_t>(maker)));
        together(subject_.team.ranks, [&] { check(made, maker); });
        collect(maker, result);
    }

  private:
    /// False for copies of `replicate` and for a checksum's remembered parts: only the rank that made them can read
    /// them.
    [[nodiscard]] bool can_swap() const {
        return !subject_.settings().replicate && subject_.settings().output != config::OutputKind::checksum;
    }

    [[nodiscard]] MadeWindows made_here() const {
        MadeWindows made{subject_.share.windows_done(), {}};
        made.anomalies = subject_.is_held()
                             ? find_anomalies(subject_.output(), subject_.share.windows(), work_, made.runs)
                             : Anomalies{find_window(made.runs, subject_.share.streamed()->counts().anomaly.part())};
        return made;
    }

    [[nodiscard]] std::vector<int64_t> find_window(const std::vector<Range>& runs,
                                                   const std::optional<Rect>& core) const {
        if (!core) return {};
        for (const int64_t index : indices_of(runs))
            if (work_.tile(index).core == *core) return {index};
        return {};
    }

    /// The windows that look wrong first, then the others in a random order that depends on the maker.
    [[nodiscard]] std::vector<int64_t> in_order(const MadeWindows& made, int maker) const {
        const CoreSink& output = subject_.output();
        const std::vector<int64_t>& anomalies = made.anomalies.windows;
        std::vector<int64_t> order = anomalies;
        std::erase_if(order, [&](int64_t index) { return !output.holds(work_.tile(index).core); });
        for (const int64_t index : readable_windows(made.runs, work_, output, static_cast<uint64_t>(maker)))
            if (std::ranges::find(anomalies, index) == anomalies.end()) order.push_back(index);
        return order;
    }

    /// The number of the maker's windows that are computed again whatever the time. A window that the network seems to
    /// have left unchanged is checked in addition to the others.
    [[nodiscard]] int64_t num_wanted(const Anomalies& anomalies) const {
        const config::ProtocolSettings& protocol = subject_.settings().protocol;
        if (protocol.verify == config::VerifyMode::full) return std::numeric_limits<int64_t>::max();
        const comm::Communicator& ranks = subject_.team.ranks;
        const int64_t probes = shard(protocol.verify_probes, ranks.rank(), ranks.size()).size();
        return std::max<int64_t>(1, probes) + (anomalies.has_unchanged ? 1 : 0);
    }

    /// The part of a window's core that is compared.
    [[nodiscard]] Rect checked_part(int64_t index) const {
        const Rect core = work_.tile(index).core;
        if (!in_parts_) return core;
        const int64_t alignment = subject_.reference.reach().alignment;
        const Extent part{std::min(kProbeEdge, core.extent.h), std::min(kProbeEdge, core.extent.w)};
        const int64_t places = (core.extent.w - part.w) / alignment + 1;
        const int64_t place = pick({0, places}, 1, kProbeSeed + static_cast<uint64_t>(index)).front();
        return {core.row, core.column + place * alignment, part};
    }

    void check(const MadeWindows& made, int maker) {
        constexpr double kAlwaysS = 1;  // seconds; small images are checked completely
        const double share = subject_.settings().protocol.verify_time_share;
        const double most_s = share > 0 ? std::max(kAlwaysS, share * subject_.trace.repeated_s) : 0;
        const int64_t wanted = num_wanted(made.anomalies);
        const Stopwatch watch;
        for (const int64_t index : in_order(made, maker)) {
            if (num_checked_ >= wanted && watch.seconds() >= most_s) return;
            const Rect part = checked_part(index);
            const Difference here =
                find_difference(subject_.output(),
                                {part, expected_of(subject_, subject_.reference, work_.tile(index), part),
                                 [&] { return subject_.reference.source().read_noisy(part); }},
                                tolerance_);
            ++num_checked_;
            largest_ =
                std::isnan(here.largest) ? std::numeric_limits<double>::infinity() : std::max(largest_, here.largest);
            if (here.excess(tolerance_) <= worst_.excess(tolerance_)) continue;
            worst_ = here;
            worst_window_ = index;
        }
    }

    void collect(int maker, record::Verification& result) const {
        const comm::Communicator& ranks = subject_.team.ranks;
        std::string finding;
        if (worst_.excess(tolerance_) > 1) {
            const int in_team = subject_.team.ranks_on_node.at(static_cast<size_t>(maker));
            finding =
                fmt::format("rank {}@{}: {}", subject_.team.members.at(static_cast<size_t>(in_team)), comm::host_name(),
                            describe(checked_part(worst_window_), worst_window_, worst_, tolerance_));
        }
        for (const std::string& text : ranks.all_gather(finding))
            if (!text.empty()) result.reasons.push_back(text);
        result.windows_checked = static_cast<int64_t>(ranks.sum(static_cast<double>(num_checked_)));
        result.window_error = ranks.max(largest_);
    }

    const Subject& subject_;
    const Work& work_;
    const comm::Communicator& node_;
    const Tolerance& tolerance_;
    bool in_parts_;
    int64_t num_checked_ = 0;
    double largest_ = 0;  // NaN counts as infinity
    Difference worst_;    // the one with the largest excess
    int64_t worst_window_ = 0;
};

/// A window of this rank: always the same one of a rank, so that `cache` has its result for the next engine.
std::optional<Difference> compare_own_window(const Subject& subject, const Tolerance& tolerance,
                                             ReferenceCache& cache) {
    const Work& work = subject.share.work();
    const auto windows = readable_windows(subject.share.windows_done(), work, subject.output(), kProbeSeed);
    if (windows.empty()) return std::nullopt;
    const plan::Tile tile = work.tile(windows.front());
    const std::string key = fmt::format("fp64 {} {} {}", key_of(subject, tile.window), key_of(subject, tile.core),
                                        plan::is_in_bands(subject.point()) ? "with all context" : "of the window");
    const image::Image& exact = cache.find(key, [&] { return expected_of(subject, *subject.exact, tile, tile.core); });
    const auto read_noisy = [&] { return subject.reference.source().read_noisy(tile.core); };
    return find_difference(subject.output(), {tile.core, exact, read_noisy}, tolerance);
}

/// As find_difference, but for each cell.
record::SeamRegion compare_cells(CoreSink& output, const Rect& part, image::Image expected, double tolerance) {
    const Quantisation stored = output.quantisation();
    const ErrorScale scale(expected, stored, tolerance);
    clip(expected, stored.limits);
    image::Image written = output.read(part);
    allow_added_rounding(written, expected, stored);
    image::DifferenceMap map = image::map_differences(written.view(), expected.view());
    for (double& difference : map.largest) difference = scale.of(difference);
    return {part, map.cell_px, std::move(map.largest)};
}

/// The position of the largest error: the middle of its cell.
std::string place_of(const record::SeamRegion& region) {
    const auto worse = [](double a, double b) { return !std::isnan(a) && (std::isnan(b) || a < b); };
    const auto cell = std::ranges::max_element(region.errors, worse) - region.errors.begin();
    const int64_t columns = ceil_div(region.part.extent.w, region.cell_px);
    const auto middle = [&](int64_t first, int64_t index, int64_t length) {
        return first + std::min(index * region.cell_px + region.cell_px / 2, length - 1);
    };
    return fmt::format("near row {}, column {}", middle(region.part.row, cell / columns, region.part.extent.h),
                       middle(region.part.column, cell % columns, region.part.extent.w));
}

}  // namespace

void check_windows(const Subject& subject, const Tolerance& tolerance, bool in_parts, record::Verification& result) {
    WindowChecker(subject, tolerance, in_parts).run(result);
}

void check_fp64(const Subject& subject, const Tolerance& tolerance, ReferenceCache& cache,
                record::Verification& result) {
    if (subject.exact == nullptr) return;
    const comm::Communicator& ranks = subject.team.ranks;
    std::optional<Difference> here;
    together(ranks, [&] { here = compare_own_window(subject, tolerance, cache); });
    const double own = !here ? -1 : std::isnan(here->largest) ? std::numeric_limits<double>::infinity() : here->largest;
    if (const double largest = ranks.max(own); largest >= 0) result.fp64_error = largest;
    std::optional<std::string> finding;
    if (here && here->excess(tolerance) > 1)
        finding =
            fmt::format("a window differs from the network in double precision: {}, at row {}, column {}, channel {}",
                        to_text(*here, tolerance), here->row, here->column, here->channel);
    if (const auto all = ranks.agree(finding)) result.reasons.push_back(*all);
}

void check_seams(const Subject& subject, ReferenceCache& cache, record::Verification& result) {
    const plan::Point& point = subject.point();
    if (point.settings.workload != config::Workload::tiles) return;
    const config::ProtocolSettings& protocol = point.settings.protocol;
    const plan::TileGrid grid = plan::tile_grid(point);
    const Reach& reach = subject.reference.reach();
    const double megapixels = static_cast<double>(grid.image().pixels()) / 1e6;
    result.seam_against_whole_image = megapixels <= protocol.verify_whole_max_mpx;
    auto probes = result.seam_against_whole_image ? std::vector<Rect>{{0, 0, grid.image()}}
                                                  : seam_probes(grid, protocol.verify_probes);
    std::erase_if(probes, [&](const Rect& probe) { return !subject.output().holds(probe); });
    if (probes.empty()) return;
    double worst = 0;
    std::string place;
    for (const Rect& probe : probes) {
        const image::Image& expected = cache.find(key_of(subject, probe), [&] {
            return subject.reference.run_with_context(probe, reach.context, grid.padded());
        });
        result.seam_map.push_back(compare_cells(subject.output(), probe, expected, result.seam_tolerance));
        for (const double cell : result.seam_map.back().errors) {
            if (std::isnan(worst) || cell <= worst) continue;
            worst = cell;
            place = place_of(result.seam_map.back());
        }
    }
    result.seam_error = worst;
    result.seam_decides = reach.is_bounded && point.halo.value() >= reach.halo;
    if (result.seam_decides && !(worst <= result.seam_tolerance))
        result.reasons.push_back(
            fmt::format("with an exact halo the tiled output differs from the whole image by {:f} (tolerance {:f}) {}",
                        worst, result.seam_tolerance, place));
}

}  // namespace pb::run
