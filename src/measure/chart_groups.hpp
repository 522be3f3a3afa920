// Finds the points of a study that belong together in a chart: a line over the batch, or alternatives side by side.
// Pure.
#pragma once

#include "measure/summary.hpp"
#include "measure/variants.hpp"
#include "plan/topology.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb::measure {

/// Points that are equal in all but some settings.
struct PointSet {
    std::string key;              // see PointGroup
    std::string label;            // the settings they share
    std::vector<int64_t> points;  // indices
};

/// Tiled points, measured or out of memory, from which one point is recommended. They form the lines of throughput and
/// memory over the batch.
struct BatchPanel {
    PointSet all;
    std::vector<PointSet> lines;      // points that differ only in the batch, sorted by it
    std::optional<double> limit_mib;  // memory_limit_of() of its first point
};

/// Measured points that differ only in precision, only in device and the ranks that use it, or only in engine.
struct Alternatives {
    VariedBy by = VariedBy::dtype;
    PointSet all;  // the first point for each precision, device or engine
};

/// Returns the panels with a measured point and a line of at least two batches, in the order of the study.
[[nodiscard]] std::vector<BatchPanel> find_batch_panels(const std::vector<record::PointTrace>& traces,
                                                        const std::vector<Summary>& summaries,
                                                        const plan::Topology& topology);

/// Returns sets of at least two points, those of precisions first.
[[nodiscard]] std::vector<Alternatives> find_alternatives(const std::vector<record::PointTrace>& traces,
                                                          const std::vector<Summary>& summaries);

}  // namespace pb::measure
