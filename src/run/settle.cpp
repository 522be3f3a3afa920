#include "run/settle.hpp"

#include "run/verify/probes.hpp"
#include "run/verify/reach.hpp"

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
          probes_(halo_probes(point)),
          exact_halo_(reach_of(reference.weights()).halo) {
        for (const Rect& probe : probes_) exact_.push_back(reference_.run_with_context(probe, exact_halo_, padded_));
    }

    int64_t run() {
        const int64_t step = point_.facts().alignment;
        int64_t low = -1;  // in steps: too small, or not tried
        int64_t high = exact_halo_ / step;
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
    int64_t exact_halo_;
    std::vector<Image> exact_;
};

}  // namespace

int64_t find_halo(const Point& point, const Team& team, ReferencePath* reference) {
    int64_t halo = 0;
    together(team.ranks, [&] {
        if (team.is_root()) halo = HaloSearch(point, *reference).run();
    });
    return static_cast<int64_t>(team.ranks.broadcast(static_cast<double>(halo)));
}

int64_t find_batch(const TrialBench& bench) {
    return find_batch(most_windows(bench.point), [&](int64_t batch) { return try_batch(bench, batch); });
}

int64_t find_batch(int64_t most, const TryBatch& try_one) {
    int64_t best = 1;
    double best_rate = 0;
    for (int64_t batch = 1;; batch *= 2) {
        const BatchTrial trial = try_one(std::min(batch, most));
        if (!trial.fits && batch == 1) throw PointFailed(trial.status, trial.reason);  // that is the point's end
        if (!trial.fits) return best;
        const bool worthwhile = trial.pixels_per_s > best_rate * kWorthwhileGain;
        if (worthwhile) best = std::min(batch, most);
        best_rate = std::max(best_rate, trial.pixels_per_s);
        if (!worthwhile || batch > most) return best;
    }
}

}  // namespace pb
