// The output of a point compared with independent computations, outside the timed region.
#pragma once

#include "record/verification.hpp"
#include "run/verify/subject.hpp"

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

/// Collective over the team; the result is complete on the root. `weights_digest`: of the values that this rank's
/// network was built from.
[[nodiscard]] Verification verify(const Subject& subject, const std::string& weights_digest, ReferenceCache& cache);

/// Of a simulated point, whose pixels pass through: every pixel written, once, and at its place, which all of the
/// root's node look at. No network ran that an output could be compared with. Collective over the team; complete on all
/// ranks.
[[nodiscard]] Verification verify_passed_through(const PointTrace& trace, const Team& team, const RankShare& share,
                                                 ImageSource& source);

/// Largest |output - reference| / max(1, largest |reference|) that a precision may show against fp32. On CUDA,
/// fp32 has three times the room: one side takes cuDNN's fastest algorithm on channels_last maps, the other the one
/// that its heuristics name for contiguous maps, and sums of 4608 products in another order differ by so much in their
/// last bits.
[[nodiscard]] double tolerance_of(Precision precision, DeviceKind device);

}  // namespace pb
