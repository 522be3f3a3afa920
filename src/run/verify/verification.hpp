// Compares the output of a point, as its ranks made it, with independent computations, outside the timed region.
#pragma once

#include "plan/plan.hpp"
#include "record/point.hpp"
#include "record/verification.hpp"
#include "run/point/rank_share.hpp"
#include "run/verify/difference.hpp"
#include "run/verify/reference_path.hpp"

#include "patchbench/engine/weights.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace pb::run {

// Decides which of many images are computed again for verification, so that this takes a bounded share of the job. The
// decision depends on pixels and not on time: it is the same on every machine.

/// How much of an output is verified. outputs: written once, finite, neither constant nor equal to the input, and by
/// the right tiles and weights. windows: some of it is computed again, too. parts: of carried rows a square of each
/// band that would be computed again, because a band has the whole width of the image.
enum class CheckDepth : uint8_t { outputs, parts, windows };

class CheckBudget {
  public:
    /// `share`: what the checks may take of the network's work.
    explicit CheckBudget(double share) : share_(share) {}

    /// Decides for the next image: `pass_px` pixels go through the network in its pass, its check takes as long as
    /// `check_px` of them. The first image is always checked, and so is the first with windows of each extent where
    /// `window` is given: those of a network whose layers are not known.
    [[nodiscard]] CheckDepth decide(double pass_px, double check_px, const std::optional<Extent>& window = {});

    /// An image was wrong: all that follow are checked.
    void distrust() { is_distrusted_ = true; }

  private:
    double share_;
    bool is_distrusted_ = false;
    std::set<std::pair<int64_t, int64_t>> windows_;  // height and width
    double pass_px_ = 0, check_px_ = 0;              // so far
};

/// The work of computing windows and seams of an image again, or parts of carried rows, as pixels of its pass that take
/// as long.
[[nodiscard]] double check_pixels(const plan::Point& point, const engine::Weights& weights);

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

// Computes windows again and compares them. If the node has more than one rank, another rank than the one that made a
// window checks it, so that a rank with wrong weights or a faulty device does not confirm itself.

/// What `reference` gives for `part` of the tile: in the tile's window, or for a band of carried or exchanged rows,
/// which has no context of its own, with the context of the network.
[[nodiscard]] image::Image expected_of(const Subject& subject, ReferencePath& reference, const plan::Tile& tile,
                                       const Rect& part);

/// Chooses which windows of a rank are computed again: those that look wrong first, then some in random order. With
/// verify.mode full these are all windows, otherwise as many as verify.time_share allows. `in_parts`: of each window
/// only a square of kProbeEdge pixels at the top, somewhere along its width. Fills the figures of the windows, and adds
/// as reason the worst window of each rank with a wrong one: rank and position. Collective over the team. The result is
/// complete on all ranks.
void check_windows(const Subject& subject, const Tolerance& tolerance, bool in_parts, record::Verification& result);

// Compares a window of each rank with the network in double precision (setting verify.fp64). The serial fp32 path
// rounds like the pipeline; this tells how far both are from the exact result.

/// Fills fp64_error with the largest difference of all ranks, and adds a reason for each rank whose window exceeds
/// `tolerance`. Does nothing without `subject.exact`. `cache`: of this rank. Collective over the team. The result is
/// complete on all ranks.
void check_fp64(const Subject& subject, const Tolerance& tolerance, ReferenceCache& cache,
                record::Verification& result);

}  // namespace pb::run
