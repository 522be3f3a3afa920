// What the layers of a network reach, derived from the order of its layers and from nothing that plans, pipelines and
// tables use: verification compares their constants with it.
#pragma once

#include "plan/plan.hpp"

#include "patchbench/engine/weights.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace pb {

struct Reach {
    int64_t alignment;  // product of the strides
    int64_t halo;       // what a core aligned to `alignment` can see on each side, rounded up to `alignment`
    bool takes_sigma;   // its first layer has one input channel more than the image
};

[[nodiscard]] Reach reach_of(const Weights& weights);

/// What the tables say wrongly of this network ("unet: the table says alignment 4, its layers 8"); none: nothing.
[[nodiscard]] std::optional<std::string> find_wrong_fact(const Weights& weights);

/// That `halo: exact` is less than these weights see, as for a network deeper than the usual; none: it is not.
[[nodiscard]] std::optional<std::string> find_short_halo(const Point& point, const Weights& weights);

}  // namespace pb
