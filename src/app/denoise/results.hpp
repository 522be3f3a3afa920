// Collects what the ranks of `denoise` did with the images, prints it in the order of the images, and gives one
// verdict.
#pragma once

#include "app/denoise/image_line.hpp"
#include "app/denoise/progress.hpp"
#include "comm/communicator.hpp"
#include "measure/summary.hpp"

#include "patchbench/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pb::app {

struct ImageResult {
    size_t job = 0;                // index of the image
    std::vector<ImageLine> lines;  // what is said about it
    ImagePasses passes;            // at least one
};

/// The images of one rank. Ranks that work on an image together give it to one of them.
using ImageResults = std::vector<ImageResult>;

/// What was asked for.
struct ImageCounts {
    size_t to_do = 0;
    size_t kept = 0;          // outputs that are there already (--no-clobber)
    int64_t passed_over = 0;  // files in folders that are no images by name
};

/// Fails images whose network had other weights than that of the first one: code may take them from a file of its host
/// or from the environment of its rank. Then prints the lines of all images, the counts if there are several images,
/// what was computed again, what the time was spent on, and one verdict. An image without a result was not begun before
/// a signal came: it counts as skipped. With `json`, the text goes to standard error, and an object for each line and
/// one for all to standard output. Collective; waits without spinning for ranks that still work.
[[nodiscard]] ExitCode conclude(const comm::Communicator& world, const ImageResults& mine, const ImageCounts& counts,
                                DenoiseProgress& progress, bool json);

/// With --dry-run: prints the lines of all images, the counts if there are several, and what all need. Fails where an
/// image failed. Collective likewise.
[[nodiscard]] ExitCode conclude_dry_run(const comm::Communicator& world, const ImageResults& mine,
                                        const ImageCounts& counts, DenoiseProgress& progress, bool json);

/// The same where nothing was to be done.
[[nodiscard]] ExitCode conclude_none(const comm::Communicator& world, const ImageCounts& counts, bool is_dry,
                                     bool json);

}  // namespace pb::app
