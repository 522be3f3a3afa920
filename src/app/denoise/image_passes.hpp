// The passes of `denoise` over one image (one, or several for pages and groups of bands), and the line that it prints
// about them.
#pragma once

#include "app/denoise/dry_run.hpp"
#include "app/denoise/inputs.hpp"
#include "measure/summary.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace pb::app {

/// How many passes were computed again in part.
struct CheckCounts {
    int64_t passes = 0;  // those that were verified at all
    int64_t passes_checked = 0;
    int64_t windows = 0;

    void operator+=(const CheckCounts& other) {
        passes += other.passes;
        passes_checked += other.passes_checked;
        windows += other.windows;
    }
};

struct ImagePasses {
    int64_t count = 0;
    bool is_written = true;       // every pass was verified, or not to be verified
    bool is_interrupted = false;  // a signal came during a pass
    CheckCounts checks;
    std::string network_sha256;  // of the tensors of a network that is code (record::PointTrace)
    int64_t images_in_pass = 1;  // largest number of images, or pages, whose windows shared batches
    measure::Summary worst;      // by what it means for the image
    PlannedNeeds planned;        // with --dry-run, which makes no pass

    /// Returns the summary of the pass.
    measure::Summary add(const record::PointTrace& trace, int64_t together = 1);
};

/// What a line says beside the figures of its trace.
struct LineNotes {
    std::vector<std::string> texts;  // empty ones are left out
    bool is_beyond = false;          // the samples (RangeFit): no PSNR
};

/// Returns "in.png -> out.png: 40x36 px (height x width), dncnn, sigma 0.1, halo 8, batch 2, ...", or the reason why
/// there is no output. The notes follow, then those of the point, on visible seams and on the clean image.
[[nodiscard]] std::string denoise_line(const DenoiseJob& job, const record::PointTrace& trace,
                                       const measure::Summary& summary, const LineNotes& notes);

/// Returns the same for --dry-run, without figures and the notes that need them. `needs`: of all passes over the image.
[[nodiscard]] std::string planned_line(const DenoiseJob& job, const plan::Point& point, const PlannedNeeds& needs,
                                       const LineNotes& notes);

/// Says what `halo: auto` took. Empty where that is exact and costs little more than the pixels: there is nothing to
/// choose.
[[nodiscard]] std::string halo_note(const plan::Point& point);

/// Says by how much an output with too small a halo differs from the whole image. Empty when seams are not visible.
[[nodiscard]] std::string seam_note(const record::PointTrace& trace);

}  // namespace pb::app
