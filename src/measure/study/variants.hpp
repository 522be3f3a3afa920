// Compares points of one study that differ only in precision, device or engine with their base. Pure. comparison.hpp
// compares two studies.
#pragma once

#include "measure/summary.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace pb::measure {

/// The setting in which the points of a group differ. The base is fp32 for dtype, the CPU for device and torch for
/// engine. Options for the process of an engine belong to the engine.
enum class VariedBy : uint8_t { dtype, device, engine };
inline constexpr std::array kEachVariedBy{VariedBy::dtype, VariedBy::device, VariedBy::engine};

/// What a point is among its alternatives: "bf16", "cuda", "onnxruntime", "pytorch compile".
[[nodiscard]] std::string variant_of(VariedBy by, const plan::Point& point);

/// One point compared with the base. A figure is absent when either of the two lacks it.
struct Variant {
    int64_t point = 0;              // index
    std::string variant;            // see variant_of
    std::optional<double> speedup;  // pipeline_s of the base / of this point
    std::optional<Interval> range;  // 95 % interval of the speed-up (see compare_times)
    std::optional<double> forward_speedup;
    std::optional<double> memory_ratio;    // peak of this point / of the base: allocated, or resident for engines
    std::optional<double> max_difference;  // from the same windows in fp32 (batch 1, contiguous), [0,1] units
    bool every_window = false;             // max_difference covers all windows; otherwise probes
    std::optional<double> psnr_loss_db;    // PSNR of the base - of this point
};

struct VariantGroup {
    VariedBy by = VariedBy::dtype;
    std::string label;                                                         // the settings that the points share
    int64_t base = 0;                                                          // index of the base
    std::string base_variant;                                                  // "fp32", "cpu"
    std::optional<double> base_pipeline_s, base_patches_per_s, base_peak_mib;  // absolute, beside the ratios
    std::optional<Interval> base_interval;                                     // of base_pipeline_s
    std::vector<Variant> points;
    int64_t fastest = 0;  // index of the point with the largest speed-up; the base does not count
};

/// Returns every group with a base and another point, in the order of the study. Leaves out points without figures
/// (refused, out of memory, ...).
[[nodiscard]] std::vector<VariantGroup> compare_variants(VariedBy by, const StudyPoints& points);

}  // namespace pb::measure
