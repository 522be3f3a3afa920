// Decides which of many images are computed again for verification, so that this takes a bounded share of the job. The
// decision depends on pixels and not on time: it is the same on every machine.
#pragma once

#include "plan/plan.hpp"

#include "patchbench/engine/weights.hpp"

#include <optional>
#include <set>
#include <utility>

namespace pb::run {

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

}  // namespace pb::run
