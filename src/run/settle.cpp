#include "run/settle.hpp"

#include "run/probes.hpp"

#include "patchbench/engine/memory.hpp"
#include "patchbench/image/quality.hpp"
#include "patchbench/run/agreement.hpp"

#include <algorithm>

namespace pb {

namespace {

constexpr int64_t kHaloProbes = 4;
constexpr double kWorthwhileGain = 1.03;

/// Seams of the coarsest kind: where patches of this point meet, whatever halo they will get.
std::vector<Rect> halo_probes(const Point& point) {
    const TileGrid grid(point.source.extent, {point.settings.patch, 0, point.facts().alignment});
    return seam_probes(grid, kHaloProbes);
}

class HaloSearch {
  public:
    HaloSearch(const Point& point, ReferencePath& reference)
        : point_(point),
          reference_(reference),
          padded_(TileGrid(point.source.extent, {point.settings.patch, 0, point.facts().alignment}).padded()),
          probes_(halo_probes(point)) {
        for (const Rect& probe : probes_)
            exact_.push_back(reference_.run_with_context(probe, point.facts().exact_halo, padded_));
    }

    int64_t run() {
        const int64_t step = point_.facts().alignment;
        int64_t low = -1;  // in steps: too small, or not tried
        int64_t high = point_.facts().exact_halo / step;
        if (probes_.empty()) return 0;
        while (high - low > 1) {
            const int64_t middle = low + (high - low) / 2;
            (error_with(middle * step) <= point_.settings.halo_tolerance ? high : low) = middle;
        }
        return high * step;
    }

  private:
    double error_with(int64_t halo) {
        double error = 0;
        for (size_t i = 0; i < probes_.size(); ++i)
            error = std::max(error, max_abs_difference(reference_.run_with_context(probes_[i], halo, padded_).view(),
                                                       exact_[i].view()));
        return error;
    }

    const Point& point_;
    ReferencePath& reference_;
    Extent padded_;
    std::vector<Rect> probes_;
    std::vector<Image> exact_;
};

/// Processed pixels per second of the slowest rank with `batch`; nothing when it does not fit.
std::optional<double> rate_with(Point point, int64_t batch, const Team& team, Denoiser& denoiser,
                                const PipelineOptions& options, int64_t channels, DType sample_type) {
    point.batch = batch;
    const Work work = make_work(point, team.ranks.rank());
    double seconds = 0;
    const Attempt tried = attempt([&] {
        const auto pipeline = make_pipeline(denoiser, work, options, channels, sample_type);
        if (options.device.is_cuda()) (void)pipeline->forward_call();  // the CPU needs no warm-up worth its price
        seconds = pipeline->forward_call();
    });
    const bool too_large = tried.kind == Attempt::Kind::oom || tried.kind == Attempt::Kind::index_limit;
    agree_on(team.ranks, too_large ? Attempt{} : tried);
    if (team.ranks.max(too_large ? 1 : 0) > 0) {
        if (batch == 1) agree_on(team.ranks, tried);  // not even one window fits: that is the point's end
        empty_allocator_cache(options.device);
        return std::nullopt;
    }
    return static_cast<double>(batch * work.window.pixels()) / std::max(1e-9, team.ranks.max(seconds));
}

}  // namespace

int64_t find_halo(const Point& point, const Team& team, ReferencePath* reference) {
    int64_t halo = 0;
    together(team.ranks, [&] {
        if (team.is_root()) halo = HaloSearch(point, *reference).run();
    });
    return static_cast<int64_t>(team.ranks.broadcast(static_cast<double>(halo)));
}

int64_t find_batch(const Point& point, const Team& team, Denoiser& denoiser, const PipelineOptions& options,
                   int64_t channels, DType sample_type) {
    int64_t best = 1;
    double best_rate = 0;
    for (int64_t batch = 1;; batch *= 2) {
        const int64_t effective = effective_batch(batch, tile_grid(point).num_windows(), point.num_ranks);
        const auto rate = rate_with(point, effective, team, denoiser, options, channels, sample_type);
        if (!rate) return best;
        const bool worthwhile = *rate > best_rate * kWorthwhileGain;
        if (worthwhile) best = effective;
        best_rate = std::max(best_rate, *rate);
        if (!worthwhile || effective < batch) return best;
    }
}

}  // namespace pb
