// Compares the output of a point, as its ranks made it, with independent computations, outside the timed region.
#pragma once

#include "record/point.hpp"
#include "record/verification.hpp"
#include "run/point/rank_share.hpp"
#include "run/verify/check_budget.hpp"
#include "run/verify/reference_path.hpp"

#include <map>
#include <string>

namespace pb::run {

/// The output of a point as its ranks made it, and the independent reference path. All members must outlive the
/// verification. Each rank has its own `reference` and `exact`.
struct Subject {
    const record::PointTrace& trace;
    const Team& team;
    const RankShare& share;
    ReferencePath& reference;
    ReferencePath* exact = nullptr;  // in double precision, where the setting verify.fp64 asks for it

    [[nodiscard]] const plan::Point& point() const { return trace.point; }
    [[nodiscard]] const config::PointSettings& settings() const { return trace.point.settings; }
    [[nodiscard]] CoreSink& output() const { return share.cores(); }
    [[nodiscard]] bool is_held() const { return share.streamed() == nullptr; }
};

/// Reference outputs of whole images and seam probes, kept from point to point. They depend only on the network, the
/// weights, the image and sigma. Each rank has its own.
class ReferenceCache {
  public:
    /// Returns the image stored under `key`. If there is none, calls `make` and stores the result.
    template <class Make>
    const image::Image& find(const std::string& key, Make&& make) {
        const auto found = images_.find(key);
        if (found != images_.end()) return found->second;
        if (images_.size() >= kMostImages) images_.clear();
        return images_.emplace(key, make()).first->second;
    }

  private:
    static constexpr size_t kMostImages = 64;
    std::map<std::string, image::Image> images_;
};

/// Everything that the reference output of `probe` depends on: its key in the cache.
[[nodiscard]] std::string key_of(const Subject& subject, const Rect& probe);

/// Collective over the team. The result is complete on the root. `weights_digest`: digest of the values from which this
/// rank's network was built. With CheckDepth::outputs no window is computed again, unless one of several looks as if
/// the network had left it unchanged or made zeros of it, or all of the output is the input or constant.
/// CheckDepth::parts compares no seams: the parts, which have all their context, lie beside them.
[[nodiscard]] record::Verification verify(const Subject& subject, const std::string& weights_digest,
                                          ReferenceCache& cache, CheckDepth depth = CheckDepth::windows);

/// Verifies a simulated point, whose pixels pass through unchanged: every pixel must be written once and at its
/// position. All ranks of the root's node check this. There is no comparison with a network because none ran.
/// Collective over the team. The result is complete on all ranks.
[[nodiscard]] record::Verification verify_passed_through(const record::PointTrace& trace, const Team& team,
                                                         const RankShare& share, ImageSource& source);

/// Compares the tiled output with that of the whole image: a halo that is too small leaves an error, an exact halo must
/// not. Fills the seam figures. Adds a reason when the halo is exact and the output differs. Only on the root.
void check_seams(const Subject& subject, ReferenceCache& cache, record::Verification& result);

/// Largest |output - reference| / max(1, largest |reference|) that a precision may show against fp32. On CUDA the
/// tolerance of fp32 is three times as large: the pipeline uses cuDNN's fastest algorithm on channels_last tensors, the
/// reference path the one that cuDNN's heuristics choose for contiguous tensors. Sums of 4608 products in a different
/// order then differ in their last bits.
[[nodiscard]] double tolerance_of(Precision precision, DeviceKind device);

}  // namespace pb::run
