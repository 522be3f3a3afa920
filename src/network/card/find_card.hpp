// Finds the card of a network by trying: it gives the network windows and looks at what comes back. Pure: the network
// is a function, whatever runs it.
#pragma once

#include "patchbench/base/shape.hpp"
#include "patchbench/network/network_card.hpp"

#include <functional>
#include <string>
#include <vector>

namespace pb::network {

/// What a network gave for one window.
struct TrialOutput {
    std::vector<float> values;  // NCHW: channels of the image, extents of the window
    std::string refusal;        // why there is none: the network's words; empty where there is one
};

/// Runs a network with `channels` and `sigma` of `card` on one window: NCHW, with the noise level as one more channel
/// where it takes one. Another shape than the image's is a refusal.
using TryWindow =
    std::function<TrialOutput(const NetworkCard& card, const std::vector<float>& window, const Shape& shape)>;

struct FoundCard {
    NetworkCard card;
    std::vector<std::string> remarks;  // what a user should know: sentences without a full stop
    int64_t num_trials = 0;
};

/// `candidates`: what channels and sigma may be, in the order in which they are tried. Throws UsageError that says what
/// is wrong with a network that cannot be used.
///
/// The method. Extents: a window that is accepted, then the smallest step that is; it is kept beside a larger alignment
/// where windows with such extents are computed as others are. Reach: everything farther than a distance from the
/// middle of a window is replaced; the smallest distance without an effect on the middle is the halo. A network is
/// unbounded when the frame of the largest window tried (512 px or a little more) has an effect, when pixels beyond the
/// halo, up to 1000 px away, change the middle of a strip, when shifted windows give shifted outputs for no shift of up
/// to 64 px, when longer windows give other corners, or when a part of 256 px differs in windows that begin an
/// alignment later. One whose windows' edges change the opposite edges is refused. Radius: one pixel is changed, in
/// several places and phases, and the farthest output that changes counts. An effect is a change of more than 1e-5 of
/// the range.
[[nodiscard]] FoundCard find_card(const std::vector<NetworkCard>& candidates, const TryWindow& try_window);

/// Sets the card's batch to 1, with a remark, where the network refuses two windows in one call or mixes them.
void look_at_batches(FoundCard& found, const TryWindow& try_window);

/// Why a network with so many channels in its input and output is none for images; 0: any.
[[nodiscard]] std::string channels_refusal(int64_t in, int64_t out);

/// The card of a network whose operations are known. All but its range follows from them. Throws UsageError for one
/// that takes and gives no image, and for one that sees farther than any tiling can.
[[nodiscard]] NetworkCard card_of(const Graph& layers);

/// Finds the range of such a network by running some windows. Throws as `find_card`.
[[nodiscard]] FoundCard find_range(const NetworkCard& card, const TryWindow& try_window);

}  // namespace pb::network
