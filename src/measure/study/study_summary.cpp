#include "measure/study/study_summary.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>

namespace pb::measure {

namespace {

const record::RankTrace* busiest_rank(const record::PointTrace& trace) {
    const auto busiest = std::max_element(trace.ranks.begin(), trace.ranks.end(),
                                          [](const auto& a, const auto& b) { return a.num_windows < b.num_windows; });
    return busiest == trace.ranks.end() || busiest->num_windows == 0 ? nullptr : &*busiest;
}

std::optional<Interval> scaled(const std::optional<Interval>& interval, double factor) {
    return interval ? std::optional(Interval{interval->low * factor, interval->high * factor}) : std::nullopt;
}

/// Returns the calls of the rank with the slowest median call.
const std::vector<double>* slowest_calls(const record::PointTrace& trace) {
    const std::vector<double>* slowest = nullptr;
    for (const auto& rank : trace.ranks)
        if (!rank.forward_call_s.empty() && rank.num_batches > 0 &&
            (slowest == nullptr || median(rank.forward_call_s) > median(*slowest)))
            slowest = &rank.forward_call_s;
    return slowest;
}

std::optional<BatchTimes::Sample> time_sample(TimeScope scope, const record::PointTrace& trace,
                                              const Summary& summary) {
    const record::RankTrace* busiest = busiest_rank(trace);
    if (!summary.pipeline_s || !trace.point.batch || busiest == nullptr) return std::nullopt;
    BatchTimes::Sample sample{summary.index, *trace.point.batch, 0, std::nullopt};
    if (scope == TimeScope::forward) {
        const auto* calls = slowest_calls(trace);
        if (calls == nullptr) return std::nullopt;
        const double windows = 1.0 / static_cast<double>(sample.batch);
        sample.window_s = median(*calls) * windows;
        sample.interval = scaled(median_interval(*calls), windows);
    } else {
        const double windows = 1.0 / static_cast<double>(busiest->num_windows);
        sample.window_s = *summary.pipeline_s * windows;
        sample.interval = scaled(pipeline_interval(summary), windows);
    }
    return sample.window_s > 0 ? std::optional(sample) : std::nullopt;
}

template <class Samples, class Batch>
bool has_two_batches(Samples& samples, Batch batch) {
    std::stable_sort(samples.begin(), samples.end(), [&](const auto& a, const auto& b) { return batch(a) < batch(b); });
    return !samples.empty() && batch(samples.front()) != batch(samples.back());
}

class Summariser {
  public:
    Summariser(const std::vector<record::PointTrace>& traces, const std::vector<Summary>& summaries,
               const plan::Topology& topology)
        : traces_(traces), summaries_(summaries), topology_(topology) {}

    StudySummary run() {
        study_.recommendations = recommend(traces_, summaries_);
        for (const auto& group : group_points(traces_, "batch")) {
            add_times(TimeScope::forward, group);
            add_times(TimeScope::pipeline, group);
            add_memory(group);
            for (const size_t member : group.members) add_search(group, member);
        }
        for (const auto by : kEachVariedBy)
            for (auto& group : compare_variants(by, traces_, summaries_)) study_.variants.push_back(std::move(group));
        study_.scalings = find_scalings(traces_, summaries_);
        study_.width_series = find_width_series(traces_, summaries_);
        study_.rooflines = find_rooflines(traces_, summaries_);
        study_.profiles = find_profiles(traces_);
        study_.batch_panels = find_batch_panels(traces_, summaries_, topology_);
        study_.alternatives = find_alternatives(traces_, summaries_);
        for (const auto& summary : summaries_)
            if (summary.pipeline_s) study_.points.push_back(point_figures(summary));
        return std::move(study_);
    }

  private:
    void add_times(TimeScope scope, const PointGroup& group) {
        BatchTimes times{group.label, scope, {}, {}};
        for (const size_t member : group.members)
            if (const auto sample = time_sample(scope, traces_[member], summaries_[member]))
                times.samples.push_back(*sample);
        if (!has_two_batches(times.samples, [](const auto& sample) { return sample.batch; })) return;
        std::vector<BatchTime> pairs;
        pairs.reserve(times.samples.size());
        for (const auto& sample : times.samples) pairs.push_back({sample.batch, sample.window_s});
        times.fit = fit_batches(pairs);
        study_.batch_times.push_back(std::move(times));
    }

    void add_memory(const PointGroup& group) {
        BatchMemory memory{group.label, {}, {}, memory_limit_of(traces_[group.members.front()].point, topology_), {}};
        std::vector<BatchPeak> peaks;
        for (const size_t member : group.members) {
            const auto& peak = summaries_[member].allocated_peak_mib;
            const auto& batch = traces_[member].point.batch;
            if (summaries_[member].status == record::PointStatus::ok && peak && batch)
                memory.samples.push_back({summaries_[member].index, {*batch, *peak}});
        }
        if (!has_two_batches(memory.samples, [](const auto& sample) { return sample.peak.batch; })) return;
        peaks.reserve(memory.samples.size());
        for (const auto& sample : memory.samples) peaks.push_back(sample.peak);
        memory.fit = fit_memory(peaks).value();
        if (memory.limit_mib) memory.predicted_batch = memory.fit.largest_batch(*memory.limit_mib);
        study_.batch_memory.push_back(std::move(memory));
    }

    void add_search(const PointGroup& group, size_t member) {
        const record::PointTrace& trace = traces_[member];
        if (!trace.batch_search) return;
        LargestBatch largest{.point = summaries_[member].index,
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

    const std::vector<record::PointTrace>& traces_;
    const std::vector<Summary>& summaries_;
    const plan::Topology& topology_;
    StudySummary study_;
};

}  // namespace

StudySummary summarise_study(const std::vector<record::PointTrace>& traces, const std::vector<Summary>& summaries,
                             const plan::Topology& topology) {
    require(traces.size() == summaries.size(), "summarise_study: every trace needs its summary");
    return Summariser(traces, summaries, topology).run();
}

}  // namespace pb::measure
