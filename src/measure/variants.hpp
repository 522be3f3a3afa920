// Points of one study that differ only in precision or only in device, each beside the one they are held against. Pure.
// Two studies are compared by comparison.hpp.
#pragma once

#include "measure/summary.hpp"

#include "patchbench/base/enum_names.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb {

/// What the points of a group differ in. dtype: against fp32; device: against the CPU.
enum class VariedBy : uint8_t { dtype, device };

template <>
struct EnumNames<VariedBy> {
    static constexpr std::array<std::pair<VariedBy, std::string_view>, 2> names{
        {{VariedBy::dtype, "dtype"}, {VariedBy::device, "device"}}};
};

/// One point against the base. Nothing where either has no such figure.
struct Variant {
    int64_t point = 0;              // index
    std::string variant;            // "bf16", "cuda"
    std::optional<double> speedup;  // pipeline_s of the base / of this
    std::optional<Interval> range;  // 95 %, of the speed-up (see compare_times)
    std::optional<double> forward_speedup;
    std::optional<double> memory_ratio;    // allocated peak of this / of the base
    std::optional<double> max_difference;  // to the same windows in fp32 (batch 1, contiguous), [0,1] units
    bool every_window = false;             // max_difference is over all windows, else over probes
    std::optional<double> psnr_loss_db;    // of the base - of this
};

struct VariantGroup {
    VariedBy by = VariedBy::dtype;
    std::string label;                                                         // what the points share
    int64_t base = 0;                                                          // index of the point held against
    std::string base_variant;                                                  // "fp32", "cpu"
    std::optional<double> base_pipeline_s, base_patches_per_s, base_peak_mib;  // absolute: a ratio alone says nothing
    std::optional<Interval> base_interval;                                     // of base_pipeline_s
    std::vector<Variant> points;
    int64_t fastest = 0;  // index of the point with the largest speed-up
};

/// Every group of points that has a base and another point, in the order of the study; points without figures (refused,
/// out of memory, ...) are left out.
[[nodiscard]] std::vector<VariantGroup> compare_variants(VariedBy by, const std::vector<PointTrace>& traces,
                                                         const std::vector<Summary>& summaries);

}  // namespace pb
