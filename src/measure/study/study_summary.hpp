// Computes what follows from several points of a study: the recommended points, time and memory over the batch, the
// largest batch, gain and cost of a precision or a device, scaling over ranks, jumps of memory over the width, distance
// from the roofline, and the groups of points in charts. Pure. The result is written to results.jsonl as the line
// "study_summary". Terminal, page and notebooks take these figures from here and do not compute them.
#pragma once

#include "measure/point_figures.hpp"
#include "measure/roofline.hpp"
#include "measure/study/batch_curve.hpp"
#include "measure/study/point_groups.hpp"
#include "measure/study/recommendation.hpp"
#include "measure/study/scaling.hpp"
#include "measure/study/variants.hpp"
#include "measure/summary.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb::measure {

/// forward: a window's mean share of the forward calls, slowest rank. pipeline: pipeline_s / windows of the busiest
/// rank.
enum class TimeScope : uint8_t { forward, pipeline };

/// The seconds per window of points that differ only in batch, and the fits to them.
struct BatchTimes {
    struct Sample : BatchTime {  // of the batch that was used
        int64_t point = 0;       // index
        std::optional<Interval> interval;
    };
    std::string label;
    TimeScope scope = TimeScope::pipeline;
    std::vector<Sample> samples;  // sorted by batch
    BatchFit fit;
};

/// The peak memory of the same points: peak of the engine's allocator, maximum over ranks.
struct BatchMemory {
    struct Sample : BatchPeak {
        int64_t point = 0;
    };
    std::string label;
    std::vector<Sample> samples;
    MemoryFit fit;
    std::optional<double> limit_mib;  // memory_limit_mib or the smallest device's memory; none on a CPU without limit
    std::optional<int64_t> predicted_batch;  // largest batch that the fit allows under the limit
};

/// A point with `batch: largest`, and how well the doublings of its search predicted the result.
struct LargestBatch {
    int64_t point = 0;
    std::string label;
    record::BatchSearch search;
    std::optional<double> limit_mib;
    std::optional<MemoryFit> fit;  // fit to the doublings that fitted into memory
    std::optional<int64_t> predicted_batch;
    std::optional<double> prediction_error;  // predicted / found - 1, if memory was the limit
};

struct StudySummary {
    std::vector<Recommendation> recommendations;
    std::vector<BatchTimes> batch_times;
    std::vector<BatchMemory> batch_memory;
    std::vector<LargestBatch> largest_batches;
    std::vector<VariantGroup> variants;
    std::vector<Scaling> scalings;
    std::vector<WidthSeries> width_series;
    std::vector<Roofline> rooflines;
    std::vector<PointProfile> profiles;
    std::vector<BatchPanel> batch_panels;
    std::vector<Alternatives> alternatives;
    std::vector<PointFigures> points;  // one for each measured point

    /// True when nothing follows from the points. Groups of points and intervals do not count.
    [[nodiscard]] bool empty() const {
        return recommendations.empty() && batch_times.empty() && batch_memory.empty() && largest_batches.empty() &&
               variants.empty() && scalings.empty() && width_series.empty() && rooflines.empty() && profiles.empty();
    }
};

/// `topology` gives the memory of each device.
[[nodiscard]] StudySummary summarise_study(const StudyPoints& points, const plan::Topology& topology);

}  // namespace pb::measure
