#include "image/quality.hpp"
#include "run/verify/difference.hpp"
#include "run/verify/probes.hpp"
#include "run/verify/reach.hpp"
#include "run/verify/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pb::run {

namespace {

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
