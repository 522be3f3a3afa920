// The result of comparing the output of a point with independent computations and with the clean image. Values only.
#pragma once

#include "config/settings.hpp"
#include "record/fields.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pb::record {

/// The fields of a part of an image, written into the object that contains the part.
template <class V, Like<Rect> R>
void part_fields(V& v, R& part) {
    v("row", whole(part.row));
    v("column", whole(part.column));
    v("height", whole(part.extent.h, 1));
    v("width", whole(part.extent.w, 1));
}

[[nodiscard]] inline bool is_part_of_an_image(const Rect& part) {
    return static_cast<double>(std::max({part.row, part.column, part.extent.h, part.extent.w})) <= config::kMaxEdge;
}

/// A part of the image in which the output was compared with the output for full context.
struct SeamRegion {
    Rect part;                   // in image coordinates
    int64_t cell_px = 1;         // edge of a cell, in pixels
    std::vector<double> errors;  // largest difference in each cell, row by row; the last cells may be cut short
};

template <class V, Like<SeamRegion> R>
void fields(V& v, R& region) {
    part_fields(v, region.part);
    v("cell_px", whole(region.cell_px, 1));
    v("errors", three_digits(region.errors), "largest difference in each cell, row by row");
}

/// Returns what is wrong with a region that was read, or null.
inline const char* complete(SeamRegion& region) {
    if (!is_part_of_an_image(region.part)) return "no part of an image";
    const auto cells = [&](int64_t length) { return (length - 1) / region.cell_px + 1; };
    const bool fits = std::ssize(region.errors) == cells(region.part.extent.h) * cells(region.part.extent.w);
    return fits ? nullptr : "needs an error for each cell of cell_px pixels";
}

/// The comparison of the output with independent computations, outside the timed region.
struct Verification {
    enum class Outcome : uint8_t { passed, failed, off };
    Outcome outcome = Outcome::off;
    std::vector<std::string> reasons;  // why it failed
    int64_t pixels_unwritten = 0;      // samples that are still poison; streamed: pixels never written
    int64_t pixels_not_finite = 0;
    double output_rounding = 0;          // largest change of a value by the output's sample type, [0,1] units
    int64_t windows_checked = 0;         // windows computed again on the serial path: fp32, batch 1, contiguous
    std::optional<double> window_error;  // largest absolute difference, [0,1] units
    double window_tolerance = 0;
    std::optional<double> fp64_error;       // the same against double precision (setting verify.fp64)
    std::optional<double> seam_error;       // against the whole image, or probe regions with full context
    bool seam_against_whole_image = false;  // false: against seam probes
    bool seam_decides = false;              // true when the halo is exact: an error beyond the tolerance then fails
    double seam_tolerance = 0;
    std::vector<SeamRegion> seam_map;  // seam_error is the maximum over these regions
    std::optional<double>
        mean_shift;  // mean of the output less that of the input, [0,1] units, where they were looked at
    std::optional<double> rms_change;  // root mean square of output less input, likewise
};

template <class V, Like<Verification> T>
void fields(V& v, T& verification) {
    v("outcome", verification.outcome);
    v("reasons", verification.reasons);
    const bool ran = verification.outcome != Verification::Outcome::off;
    v("pixels_unwritten", when(ran, verification.pixels_unwritten));
    v("pixels_not_finite", when(ran, verification.pixels_not_finite));
    v("output_rounding", when(ran, verification.output_rounding),
      "by which the output's sample type changes a value at most; part of the tolerances");
    v("windows_checked", when(ran, verification.windows_checked));
    v("window_error", verification.window_error);
    v("window_tolerance", when(ran, verification.window_tolerance));
    v("fp64_error", verification.fp64_error,
      "as window_error, against double precision, in a window of each rank; null without verify.fp64");
    v("seam_error", verification.seam_error);
    v("seam_tolerance", when(ran, verification.seam_tolerance));
    v("seam_against_whole_image", when(ran, verification.seam_against_whole_image));
    v("seam_decides", when(ran, verification.seam_decides));
    v("seam_map", or_null(verification.seam_map), "what seam_error is the maximum of, to three digits");
    v("mean_shift", verification.mean_shift,
      "mean of the output less that of the input, clipped to [0,1], where they were looked at");
    v("rms_change", verification.rms_change, "root mean square of output less input, likewise");
}

/// The quality of the output against the clean image, if that is known.
struct Quality {
    double psnr_noisy_db = 0;
    double psnr_denoised_db = 0;
    double ssim_noisy = 0;
    double ssim_denoised = 0;
    double samples = 0;  // that were compared: those with data in both images; 0 where one is not finite
};

template <class V, Like<Quality> Q>
void fields(V& v, Q& quality) {
    v("psnr_noisy_db", decibels(quality.psnr_noisy_db));
    v("psnr_denoised_db", decibels(quality.psnr_denoised_db));
    v("ssim_noisy", quality.ssim_noisy);
    v("ssim_denoised", quality.ssim_denoised);
    v("samples", amount(quality.samples), "that were compared: those with data in both images");
}

}  // namespace pb::record
