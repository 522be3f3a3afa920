#include "measure/study/study_summary.hpp"

#include "measure/trace_figures.hpp"

#include <algorithm>

namespace pb::measure {

namespace {

const record::RankTrace* busiest_rank(const record::PointTrace& trace) {
    const auto busiest = std::ranges::max_element(trace.ranks, {}, &record::RankTrace::num_windows);
    return busiest == trace.ranks.end() || busiest->num_windows == 0 ? nullptr : &*busiest;
}

std::optional<BatchTimes::Sample> time_sample(TimeScope scope, const record::PointTrace& trace,
                                              const Summary& summary) {
    const record::RankTrace* busiest = busiest_rank(trace);
    if (!summary.pipeline_s || !trace.point.batch || busiest == nullptr) return std::nullopt;
    BatchTimes::Sample sample{{*trace.point.batch, 0}, summary.index, std::nullopt};
    if (scope == TimeScope::forward) {
        const record::RankTrace* rank = slowest_rank(trace);
        if (rank == nullptr) return std::nullopt;
        const double calls = calls_per_window(trace, *rank);
        sample.window_s = median(rank->forward_call_s) * calls;
        if (const auto interval = median_interval(rank->forward_call_s)) sample.interval = *interval * calls;
    } else {
        const double windows = 1.0 / static_cast<double>(busiest->num_windows);
        sample.window_s = *summary.pipeline_s * windows;
        if (const auto interval = pipeline_interval(summary)) sample.interval = *interval * windows;
    }
    return sample.window_s > 0 ? std::optional(sample) : std::nullopt;
}

/// Sorts by batch. `Sample` has a batch.
template <class Sample>
bool has_two_batches(std::vector<Sample>& samples) {
    std::ranges::stable_sort(samples, {}, &Sample::batch);
    return !samples.empty() && samples.front().batch != samples.back().batch;
}

class Summariser {
  public:
    Summariser(const StudyPoints& points, const plan::Topology& topology) : points_(points), topology_(topology) {}

    StudySummary run() {
        study_.recommendations = recommend(points_);
        for (const auto& group : group_points(points_, "batch")) {
            add_times(TimeScope::forward, group);
            add_times(TimeScope::pipeline, group);
            add_memory(group);
            for (const size_t member : group.members) add_search(group, points_[member]);
        }
        for (const auto by : kEachVariedBy)
            for (auto& group : compare_variants(by, points_)) study_.variants.push_back(std::move(group));
        study_.scalings = find_scalings(points_);
        study_.width_series = find_width_series(points_);
        study_.rooflines = find_rooflines(points_);
        study_.profiles = find_profiles(points_);
        study_.batch_panels = find_batch_panels(points_, topology_);
        study_.alternatives = find_alternatives(points_);
        for (const auto& point : points_)
            if (point.summary->pipeline_s) study_.points.push_back(point_figures(*point.summary));
        return std::move(study_);
    }

  private:
    void add_times(TimeScope scope, const PointGroup& group) {
        BatchTimes times{group.label, scope, {}, {}};
        for (const size_t member : group.members)
            if (const auto sample = time_sample(scope, *points_[member].trace, *points_[member].summary))
                times.samples.push_back(*sample);
        if (!has_two_batches(times.samples)) return;
        times.fit = fit_batches({times.samples.begin(), times.samples.end()});
        study_.batch_times.push_back(std::move(times));
    }

    /// A memory limit may give points of a group smaller Winograd tiles, and weights: the fit is to those of one form.
    void add_memory(const PointGroup& group) {
        const plan::Point& first = points_[group.members.front()].trace->point;
        BatchMemory memory{group.label, {}, {}, memory_limit_of(first, topology_), {}};
        memory.samples = memory_samples(group, false);
        if (!has_two_batches(memory.samples)) memory.samples = memory_samples(group, true);
        if (!has_two_batches(memory.samples)) return;
        memory.fit = fit_memory({memory.samples.begin(), memory.samples.end()}).value();
        if (memory.limit_mib) memory.predicted_batch = memory.fit.largest_batch(*memory.limit_mib);
        study_.batch_memory.push_back(std::move(memory));
    }

    [[nodiscard]] std::vector<BatchMemory::Sample> memory_samples(const PointGroup& group, bool has_small_tiles) const {
        std::vector<BatchMemory::Sample> samples;
        for (const size_t member : group.members) {
            const Summary& summary = *points_[member].summary;
            const plan::Point& point = points_[member].trace->point;
            if (point.winograd_tile.has_value() != has_small_tiles) continue;
            if (summary.status == record::PointStatus::ok && summary.allocated_peak_mib && point.batch)
                samples.push_back({{*point.batch, *summary.allocated_peak_mib}, summary.index});
        }
        return samples;
    }

    void add_search(const PointGroup& group, const StudyPoint& point) {
        const record::PointTrace& trace = *point.trace;
        if (!trace.batch_search) return;
        LargestBatch largest{.point = point.summary->index,
                             .label = group.label,
                             .search = *trace.batch_search,
                             .limit_mib = memory_limit_of(trace.point, topology_)};
        std::vector<BatchPeak> doublings;
        for (const auto& tried : largest.search.tries) {
            if (!tried.fits) break;
            doublings.push_back({tried.batch, static_cast<double>(tried.peak_bytes) / kMiB});
        }
        largest.fit = fit_memory(doublings);
        if (largest.fit && largest.limit_mib) largest.predicted_batch = largest.fit->largest_batch(*largest.limit_mib);
        if (largest.predicted_batch && largest.search.found > 0 &&
            largest.search.limited_by == record::BatchLimit::memory)
            largest.prediction_error =
                static_cast<double>(*largest.predicted_batch) / static_cast<double>(largest.search.found) - 1;
        study_.largest_batches.push_back(std::move(largest));
    }

    const StudyPoints& points_;
    const plan::Topology& topology_;
    StudySummary study_;
};

}  // namespace

StudySummary summarise_study(const StudyPoints& points, const plan::Topology& topology) {
    return Summariser(points, topology).run();
}

}  // namespace pb::measure
