#include "report/summarise_results.hpp"

#include <algorithm>

namespace pb::report {

measure::StudySummary summarise_results(const ResultsFile& results) {
    std::vector<const RecordedPoint*> points;
    points.reserve(results.points.size());
    for (const auto& point : results.points) points.push_back(&point);
    std::stable_sort(points.begin(), points.end(),
                     [](const auto* a, const auto* b) { return a->summary.index < b->summary.index; });
    std::vector<record::PointTrace> traces;
    std::vector<measure::Summary> summaries;
    for (const auto* point : points) {
        traces.push_back(point->trace);
        summaries.push_back(point->summary);
    }
    return measure::summarise_study(traces, summaries, results.environment().topology);
}

measure::StudySummary summarise_recorded(const ResultsFile& results) {
    measure::StudySummary study = summarise_results(results);
    if (!results.end) study.recommendations.clear();
    return study;
}

}  // namespace pb::report
