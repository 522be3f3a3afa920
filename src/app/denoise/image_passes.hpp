// The passes of `denoise` over one image: one, or several for pages and groups of bands.
#pragma once

#include "app/denoise/dry_run.hpp"
#include "measure/summary.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

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

}  // namespace pb::app
