// Every network, for tests of what holds for all of them.
#pragma once

#include "patchbench/network/network_shape.hpp"

namespace pb::test {

inline std::vector<network::NetworkKind> all_networks() {
    std::vector<network::NetworkKind> kinds;
    for (const auto& [kind, name] : enum_table<network::NetworkKind>()) kinds.push_back(kind);
    return kinds;
}

}  // namespace pb::test
