// The networks by name; what they are is in the layer network.
#pragma once

#include "patchbench/base/enum_names.hpp"

#include <cstdint>
#include <string_view>

namespace pb {

enum class NetworkKind : uint8_t { drunet, unet, dncnn };

constexpr auto enum_names(NetworkKind) {
    return std::to_array<EnumName<NetworkKind>>(
        {{NetworkKind::drunet, "drunet"}, {NetworkKind::unet, "unet"}, {NetworkKind::dncnn, "dncnn"}});
}

}  // namespace pb
