// Seeded weights of the published networks, which take a second to make.
#pragma once

#include "patchbench/engine/weights.hpp"

#include <map>

namespace pb::test {

inline constexpr uint64_t kStandardSeed = 7;

/// Those for colour, made once in a program. Not for several threads.
inline const engine::Weights& standard_weights(network::NetworkKind kind) {
    static std::map<network::NetworkKind, engine::Weights> made;
    engine::Weights& weights = made[kind];
    if (weights.convolutions.empty()) weights = engine::make_seeded_weights(kind, 3, kStandardSeed);
    return weights;
}

}  // namespace pb::test
