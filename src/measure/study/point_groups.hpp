// Groups the points of a study that differ in one setting only, or in a few, for analyses and for charts. Only this
// file decides which points belong together. Pure.
#pragma once

#include "measure/study/variants.hpp"
#include "measure/summary.hpp"
#include "plan/topology.hpp"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pb::measure {

/// Settings that say how the image is cut and fed. They may differ between the points from which one is recommended.
inline constexpr std::array<std::string_view, 6> kCutting{"patch", "halo", "batch", "last_batch", "slots", "overlap"};

/// The engine and what its process is told.
inline constexpr std::array<std::string_view, 2> kEngineSettings{"engine", "worker.options"};

struct PointGroup {
    std::string key;              // hash of the shared settings, 16 hex digits; the same in every file
    std::string label;            // label of its first point without the settings; " (point 3)" tells groups apart
    std::vector<size_t> members;  // indices into the study, ascending
};

/// Returns the groups in the order of their first points. Settings are compared by their resolved values (device,
/// ranks, halo, sigma, extent). A point that differs from all others is a group of one. `image.width` and
/// `image.height` also stand for the extent of the image.
[[nodiscard]] std::vector<PointGroup> group_points(const StudyPoints& points,
                                                   std::span<const std::string_view> but_for);
[[nodiscard]] std::vector<PointGroup> group_points(const StudyPoints& points, std::string_view but_for);

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
[[nodiscard]] std::vector<BatchPanel> find_batch_panels(const StudyPoints& points, const plan::Topology& topology);

/// Returns sets of at least two points, those of precisions first.
[[nodiscard]] std::vector<Alternatives> find_alternatives(const StudyPoints& points);

}  // namespace pb::measure
