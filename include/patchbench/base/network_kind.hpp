// The networks by name; what they are is in the layer network.
#pragma once

#include "patchbench/base/enum_names.hpp"

#include <cstdint>
#include <string_view>

namespace pb {

enum class NetworkKind : uint8_t { drunet, unet, dncnn };

template <>
struct EnumNames<NetworkKind> {
    static constexpr std::array<std::pair<NetworkKind, std::string_view>, 3> names{
        {{NetworkKind::drunet, "drunet"}, {NetworkKind::unet, "unet"}, {NetworkKind::dncnn, "dncnn"}}};
};

}  // namespace pb
