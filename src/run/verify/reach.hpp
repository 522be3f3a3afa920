// The reach of a network, found by walking through its layers pixel by pixel. It shares no code with the derivation of
// plans and facts (network/receptive_field.hpp), so that verification can compare both.
#pragma once

#include "plan/plan.hpp"

#include "patchbench/engine/weights.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace pb::run {

struct Reach {
    int64_t alignment;  // product of the strides
    int64_t halo;      // distance on each side that a core aligned to `alignment` depends on, rounded up to `alignment`
    bool takes_sigma;  // the first layer has one input channel more than the image
    int64_t context = halo;    // what outputs that others are compared with get on each side
    bool is_bounded = true;    // false: `halo` and `context` are what is tried at most, and decide nothing
    int64_t step = alignment;  // extents of windows are multiples of it
    /// What an aligned core depends on before and behind it: layers of stride 2 look less far to one side.
    int64_t before = halo, behind = halo;
};

/// Throws Error when the weights lack a layer of their network. A network that the user brings has no layers here: its
/// card is taken, and more than twice its halo as context, 64 px more at least, so that a halo or an alignment which is
/// too small shows.
[[nodiscard]] Reach reach_of(const engine::Weights& weights);

/// Returns an error in the table's facts about this network ("unet: the table says alignment 4, its layers 8"), or
/// nothing.
[[nodiscard]] std::optional<std::string> find_wrong_fact(const engine::Weights& weights);

/// Returns an error when `halo: exact` is less than the reach of these weights, for example of a network that is deeper
/// than usual; otherwise nothing.
[[nodiscard]] std::optional<std::string> find_short_halo(const plan::Point& point, const engine::Weights& weights);

}  // namespace pb::run
