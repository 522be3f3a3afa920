// Which points of a study belong together in a chart: a line over the batch, or alternatives side by side. Pure.
#pragma once

#include "measure/summary.hpp"
#include "measure/variants.hpp"
#include "plan/topology.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb {

/// Points that agree in all but some settings.
struct PointSet {
    std::string key;              // see PointGroup
    std::string label;            // what they share
    std::vector<int64_t> points;  // indices
};

/// Tiled points, measured or out of memory, among which one point is recommended, and the lines of throughput and
/// memory over the batch that they make.
struct BatchPanel {
    PointSet all;
    std::vector<PointSet> lines;      // of points that differ in the batch alone, by batch
    std::optional<double> limit_mib;  // see memory_limit_of; of its first point
};

/// Measured points that differ in precision only, or in device and the ranks that use it.
struct Alternatives {
    VariedBy by = VariedBy::dtype;
    PointSet all;  // one point for each precision or device: the first
};

/// Panels with a measured point and a line over at least two batches, in the order of the study.
[[nodiscard]] std::vector<BatchPanel> find_batch_panels(const std::vector<PointTrace>& traces,
                                                        const std::vector<Summary>& summaries,
                                                        const Topology& topology);

/// Sets of at least two points; first those of precisions.
[[nodiscard]] std::vector<Alternatives> find_alternatives(const std::vector<PointTrace>& traces,
                                                          const std::vector<Summary>& summaries);

}  // namespace pb
