// The output of a point compared with independent computations, outside the timed region.
#pragma once

#include "run/rank_share.hpp"
#include "run/reference_path.hpp"

#include "patchbench/run/trace.hpp"

#include <map>
#include <string>

namespace pb {

/// Reference outputs of whole images and seam probes, kept from point to point: they depend on the network, the
/// weights, the image and the sigma only. On the root.
class ReferenceCache {
  public:
    /// The image under `key`, or what `make` gives, kept.
    template <class Make>
    const Image& find(const std::string& key, Make&& make) {
        const auto found = images_.find(key);
        if (found != images_.end()) return found->second;
        if (images_.size() >= kMostImages) images_.clear();
        return images_.emplace(key, make()).first->second;
    }

  private:
    static constexpr size_t kMostImages = 64;
    std::map<std::string, Image> images_;
};

/// Collective over the team; the result is complete on the root. `reference` is every rank's own.
[[nodiscard]] Verification verify(const PointTrace& trace, const Team& team, const RankShare& share,
                                  ReferencePath& reference, ReferenceCache& cache);

/// Of a simulated point, whose pixels pass through: every pixel written, once, and at its place, which all of the
/// root's node look at. No network ran that an output could be compared with. Collective over the team; complete on all
/// ranks.
[[nodiscard]] Verification verify_passed_through(const PointTrace& trace, const Team& team, const RankShare& share,
                                                 ImageSource& source);

/// What is wrong with the number of pixels that all ranks kept; nothing when it is the image's. Collective.
[[nodiscard]] std::optional<std::string> find_coverage_fault(const PointTrace& trace, const Team& team,
                                                             const RankShare& share);

/// The ranks that brought samples of a streamed output that are not finite, by name; nothing when none did. Collective.
[[nodiscard]] std::optional<std::string> name_ranks_not_finite(const Team& team, const StreamCounts& counts);

/// Largest |output - reference| / max(1, largest |reference|) that a precision may show against fp32.
[[nodiscard]] double tolerance_of(Precision precision);

/// PSNR and SSIM before and after; on the root only.
[[nodiscard]] Quality measure_quality(const Slab& output, ImageSource& source);
/// PSNR, of an output that no rank holds: each rank looks at its own windows. No SSIM, whose windows cross theirs.
/// Collective.
[[nodiscard]] Quality measure_quality_by_windows(const Team& team, const RankShare& share, ImageSource& source);

}  // namespace pb
