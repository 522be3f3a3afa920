#include "run/verify/check_budget.hpp"

#include "network/graph_facts.hpp"
#include "plan/slabs.hpp"
#include "run/verify/probes.hpp"
#include "run/verify/reach.hpp"
#include "run/verify/reference_path.hpp"

#include <algorithm>

namespace pb::run {

namespace {

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
