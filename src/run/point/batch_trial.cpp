#include "run/point/batch_trial.hpp"

#include "comm/interruption.hpp"
#include "engine/memory.hpp"
#include "run/agreement.hpp"

#include <algorithm>
#include <limits>

namespace pb::run {

BatchTrial try_batch(const TrialBench& bench, int64_t batch) {
    plan::Point point = bench.point;
    point.batch = batch;
    const comm::Communicator& ranks = bench.team.ranks;
    const Work work = make_work(point, ranks.rank());
    double seconds = 0;
    int64_t peak = 0;
    const Attempt tried = attempt([&] {
        comm::stop_if_interrupted();
        const auto pipeline = make_pipeline(bench.denoiser, work, bench.options, bench.channels, bench.sample_type);
        if (bench.options.device.is_cuda())
            (void)pipeline->forward_call();  // on a CPU only `largest` tries batches, and it needs only the memory
        engine::reset_allocator_peaks(bench.options.device);
        seconds = pipeline->forward_call();
        peak = peak_allocated_bytes(*pipeline, bench.options.device);
    });
    const bool too_large = tried.kind == Attempt::Kind::oom || tried.kind == Attempt::Kind::index_limit;
    agree_on(ranks, too_large ? Attempt{} : tried);
    BatchTrial trial;
    trial.fits = ranks.max(too_large ? 1 : 0) == 0;
    if (trial.fits) {
        trial.call_s = std::max(1e-9, ranks.max(seconds));
        trial.peak_bytes = static_cast<int64_t>(ranks.max(static_cast<double>(peak)));
        trial.pixels_per_s = static_cast<double>(batch * work.window.pixels()) / trial.call_s;
        return trial;
    }
    const bool too_many = ranks.max(tried.kind == Attempt::Kind::index_limit ? 1 : 0) > 0;
    trial.status = too_many ? record::PointStatus::index_limit : record::PointStatus::oom;
    trial.reason = ranks.agree(too_large ? std::optional(tried.reason) : std::nullopt).value_or("");
    engine::empty_allocator_cache(bench.options.device);
    return trial;
}

int64_t most_windows(const plan::Point& point) {
    return plan::effective_batch(std::numeric_limits<int64_t>::max(), plan::tile_grid(point).num_windows(),
                                 point.num_ranks);
}

}  // namespace pb::run
