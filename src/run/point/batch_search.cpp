#include "run/point/batch_search.hpp"

#include "comm/interruption.hpp"
#include "engine/memory.hpp"
#include "run/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace pb::run {

BatchTrial try_batch(const TrialBench& bench, int64_t batch) {
    plan::Point point = bench.point;
    point.batch = batch;
    const comm::Communicator& ranks = bench.team.ranks;
    Work work;
    double seconds = 0;
    int64_t peak = 0;
    const Attempt tried = attempt([&] {
        comm::stop_if_interrupted();
        work = make_work(point, ranks.rank());
        if (work.windows.size() > 0) work.resident = work.largest_batch();
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
    return plan::effective_batch(point, std::numeric_limits<int64_t>::max());
}

namespace {

/// Doubles the batch from 1 until it does not fit (the device's memory, memory_limit_mib, 32-bit indices) or the
/// largest share has no more windows. It then bisects, and tries the answer once more with an empty cache; if that
/// fails, it tries the next smaller batch. found = 0 when not even one window fits.
record::BatchSearch double_and_bisect(const TrialBench& bench) {
    const int64_t most = most_windows(bench.point);
    record::BatchSearch search;
    // Tries a batch with an empty allocator cache, as at the start of a point with this batch.
    const auto tried = [&](int64_t batch) {
        engine::empty_allocator_cache(bench.options.device);
        const BatchTrial trial = try_batch(bench, batch);
        search.tries.push_back({batch, trial.fits, trial.peak_bytes});
        if (!trial.fits)
            search.limited_by = trial.status == record::PointStatus::index_limit ? record::BatchLimit::index
                                                                                 : record::BatchLimit::memory;
        return trial.fits;
    };
    int64_t fits = 0, beyond = 1;  // largest that fitted; smallest that did not, or one more than there are windows
    while (beyond <= most && tried(beyond)) {
        fits = beyond;
        beyond = fits == most ? most + 1 : std::min(2 * fits, most);
    }
    while (beyond - fits > 1) {
        const int64_t middle = fits + (beyond - fits) / 2;
        (tried(middle) ? fits : beyond) = middle;
    }
    while (fits > 0 && !tried(fits)) beyond = fits--;
    if (beyond > most) search.limited_by = record::BatchLimit::windows;
    search.found = fits;
    return search;
}

}  // namespace

int64_t search_largest(const TrialBench& bench, record::PointTrace& trace) {
    trace.batch_search = double_and_bisect(bench);
    const auto& [tries, found, limited_by] = *trace.batch_search;
    const Extent window = plan::tile_grid(bench.point).window();
    if (found == 0)
        throw PointFailed(
            limited_by == record::BatchLimit::index ? record::PointStatus::index_limit : record::PointStatus::oom,
            fmt::format("nothing fits: not even one window of {} x {} px", window.h, window.w));
    if (limited_by == record::BatchLimit::windows)
        trace.point.notes.push_back(fmt::format(
            "memory is not what limits the batch: all {} windows of a rank fit into one; a larger image would tell",
            found));
    return found;
}

}  // namespace pb::run
