#include "measure/chart_groups.hpp"

#include "measure/memory_fit.hpp"
#include "measure/point_groups.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace pb::measure {

namespace {

bool is_drawable(const Summary& summary) {
    return summary.status == record::PointStatus::ok && summary.pipeline_s.has_value();
}

/// Returns the members of a group for which `is_wanted` holds.
template <class Wanted>
std::vector<size_t> members_of(const PointGroup& group, Wanted is_wanted) {
    std::vector<size_t> members;
    std::copy_if(group.members.begin(), group.members.end(), std::back_inserter(members), is_wanted);
    return members;
}

PointSet set_of(const PointGroup& group, const std::vector<size_t>& members, const std::vector<Summary>& summaries) {
    PointSet set{group.key, group.label, {}};
    for (const size_t member : members) set.points.push_back(summaries[member].index);
    return set;
}

/// Returns the settings in which alternatives differ.
std::span<const std::string_view> settings_of(VariedBy by) {
    static constexpr std::array<std::string_view, 1> kDtype{"dtype"};
    static constexpr std::array<std::string_view, 2> kPlaces{"device", "ranks"};
    if (by == VariedBy::engine) return kEngineSettings;
    return by == VariedBy::dtype ? std::span<const std::string_view>(kDtype) : kPlaces;
}

/// Returns the first measured point of the group with each value.
std::vector<size_t> first_of_each(VariedBy by, const PointGroup& group, const std::vector<record::PointTrace>& traces,
                                  const std::vector<Summary>& summaries) {
    std::set<std::string> seen;
    return members_of(group, [&](size_t i) {
        if (!is_drawable(summaries[i]) || (by == VariedBy::engine && summaries[i].simulated)) return false;
        return seen.insert(variant_of(by, traces[i].point)).second;
    });
}

/// Returns the members of the line that are in the panel, sorted by batch.
std::vector<size_t> by_batch(const PointGroup& line, const std::vector<size_t>& panel,
                             const std::vector<record::PointTrace>& traces) {
    auto places = members_of(line, [&](size_t i) { return std::binary_search(panel.begin(), panel.end(), i); });
    std::stable_sort(places.begin(), places.end(),
                     [&](size_t a, size_t b) { return *traces[a].point.batch < *traces[b].point.batch; });
    return places;
}

}  // namespace

std::vector<BatchPanel> find_batch_panels(const std::vector<record::PointTrace>& traces,
                                          const std::vector<Summary>& summaries, const plan::Topology& topology) {
    require(traces.size() == summaries.size(), "find_batch_panels: every trace needs its summary");
    const auto is_drawn = [&](size_t i) {
        return traces[i].point.settings.workload == config::Workload::tiles && traces[i].point.batch &&
               (is_drawable(summaries[i]) || summaries[i].status == record::PointStatus::oom);
    };
    const auto lines = group_points(traces, "batch");
    std::vector<BatchPanel> panels;
    for (const auto& group : group_points(traces, kCutting)) {
        const auto members = members_of(group, is_drawn);
        if (std::none_of(members.begin(), members.end(), [&](size_t i) { return is_drawable(summaries[i]); })) continue;
        BatchPanel panel{
            set_of(group, members, summaries), {}, memory_limit_of(traces[members.front()].point, topology)};
        bool goes_over_batches = false;
        for (const auto& line : lines) {
            const auto places = by_batch(line, members, traces);
            if (places.empty()) continue;
            panel.lines.push_back(set_of(line, places, summaries));
            goes_over_batches |= traces[places.front()].point.batch != traces[places.back()].point.batch;
        }
        if (goes_over_batches) panels.push_back(std::move(panel));
    }
    return panels;
}

std::vector<Alternatives> find_alternatives(const std::vector<record::PointTrace>& traces,
                                            const std::vector<Summary>& summaries) {
    require(traces.size() == summaries.size(), "find_alternatives: every trace needs its summary");
    std::vector<Alternatives> all;
    for (const VariedBy by : kEachVariedBy)
        for (const auto& group : group_points(traces, settings_of(by))) {
            const auto members = first_of_each(by, group, traces, summaries);
            if (members.size() > 1) all.push_back({by, set_of(group, members, summaries)});
        }
    return all;
}

}  // namespace pb::measure
