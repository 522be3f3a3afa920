// The three networks as they are measured: the shapes that the tables of base stand for.
#pragma once

#include "patchbench/base/network_facts.hpp"
#include "patchbench/network/dncnn.hpp"
#include "patchbench/network/drunet.hpp"
#include "patchbench/network/unet.hpp"

namespace pb::test {

inline constexpr std::array kKinds{NetworkKind::drunet, NetworkKind::unet, NetworkKind::dncnn};

inline Graph standard_graph(NetworkKind kind, int64_t channels) {
    if (kind == NetworkKind::drunet) return drunet({.channels = channels});
    if (kind == NetworkKind::unet) return unet({.channels = channels});
    return dncnn({.channels = channels});
}

}  // namespace pb::test
